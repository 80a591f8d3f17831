"""The machine under a gate, to be broken at a chosen call: tests/fault/fault.c, preloaded.

A `Machine` is the page of memory that it shares with the library. Arm it before a gate starts or
while it runs; `calls` counts what the gate has done to the files of its data directory.
"""
import mmap
import pathlib
import shutil
import struct

import pytest

from .gate import BINARY

FIELDS = ('kind', 'first', 'times', 'number', 'calls', 'sync_ms', 'clock_ms', 'allocation',
          'allocations', 'log_syncs')
KINDS = {'none': 0, 'error': 1, 'short': 2, 'kill': 3, 'killed': 4, 'torn': 5, 'no_sync': 6,
         'unsynced': 7}
FOREVER = 1 << 60


def find_library():
    """The library of the build that the binary is from; None where it was not built."""
    for folder in (BINARY.parent, *BINARY.parents[:4]):
        file = folder / 'tests' / 'fault' / 'fault.so'
        if file.is_file():
            return file
    return None


needs_machine = pytest.mark.skipif(find_library() is None, reason='this build has no fault library')


class Machine:
    def __init__(self, directory, data):
        self.file = pathlib.Path(directory) / 'machine'
        self.file.write_bytes(bytes(4096))
        with open(self.file, 'r+b') as opened:
            self.page = mmap.mmap(opened.fileno(), 4096)
        self.env = {'LD_PRELOAD': str(find_library()), 'FAULT_CONTROL': str(self.file),
                    'FAULT_DIRECTORY': str(data)}

    def arm(self, kind, nth=1, times=1, number=5):
        """Strike at the nth call from now on, and at `times` calls in all."""
        self.kind = 0
        self.number, self.times, self.first = number, times, self.calls + nth
        self.kind = KINDS[kind]

    def disarm(self):
        self.kind = 0
        self.allocation = 0

    def keep_synced(self):
        """From the next start on, keep what is synced, for cut_power()."""
        self.synced = self.file.with_name('synced')
        self.synced.mkdir()
        self.env['FAULT_SYNCED'] = str(self.synced)

    def cut_power(self):
        """Of a gate that is dead: leave of its database, log and audit folder what had been synced."""
        for file in pathlib.Path(self.env['FAULT_DIRECTORY']).glob('counterfoil.db*'):
            kept = self.synced / file.name
            file.write_bytes(kept.read_bytes() if kept.exists() else b'')
        data = pathlib.Path(self.env['FAULT_DIRECTORY'])
        shutil.rmtree(data / 'audit', ignore_errors=True)
        if 'audit' in self.names(''):
            self.put_back(data, 'audit')

    def names(self, folder):
        kept = self.synced / '%'.join(['names', *pathlib.PurePath(folder).parts])
        lines = kept.read_text().splitlines() if kept.exists() else []
        return dict(line.split(' ') for line in lines)

    def put_back(self, data, folder):
        (data / folder).mkdir(mode=0o700)
        for name, stands_for in self.names(folder).items():
            if stands_for == '/':
                self.put_back(data, f'{folder}/{name}')
            else:
                kept = self.synced / stands_for
                (data / folder / name).write_bytes(kept.read_bytes() if kept.exists() else b'')

    def fail_allocation(self, nth):
        self.allocations, self.allocation = 0, nth


def field(index):
    def get(self):
        return struct.unpack_from('q', self.page, 8 * index)[0]

    def set(self, value):
        struct.pack_into('q', self.page, 8 * index, value)
    return property(get, set)


for index, name in enumerate(FIELDS):
    setattr(Machine, name, field(index))
