"""Disks that are full or cannot be written to."""
import os
import resource
import signal
import subprocess


class SmallDisk:
    """A tmpfs of its own where the tests may mount one; see `is_possible()`."""

    def __init__(self, directory, size, options=''):
        self.directory = directory
        directory.mkdir(parents=True, exist_ok=True)
        wanted = f'size={size},mode=700' + (f',{options}' if options else '')
        subprocess.run(['mount', '-t', 'tmpfs', '-o', wanted, 'tmpfs', str(directory)], check=True,
                       capture_output=True)

    def remount(self, options):
        subprocess.run(['mount', '-o', f'remount,{options}', str(self.directory)], check=True)

    def fill(self, leave=0):
        """Take all room but `leave` bytes; the file to remove afterwards."""
        filler = self.directory / 'filler'
        with open(filler, 'wb', buffering=0) as out:
            try:
                while True:
                    out.write(b'\0' * 4096)
            except OSError:
                pass
        with open(filler, 'r+b') as out:
            out.truncate(max(0, filler.stat().st_size - leave))
        return filler

    def release(self):
        subprocess.run(['umount', '-l', str(self.directory)], check=False, capture_output=True)


def can_mount(directory):
    if os.geteuid() != 0:
        return False
    try:
        SmallDisk(directory, 65536).release()
        return True
    except (subprocess.CalledProcessError, FileNotFoundError):
        return False


def file_size_limit(limit):
    """For a child: no file may grow over `limit` bytes, and the attempt is an error, no signal."""
    def before_exec():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
    return before_exec
