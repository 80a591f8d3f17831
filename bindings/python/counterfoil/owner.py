"""Who is at an entry of the journal: "MACHINE BOOT PIDNS PID START", and whether they still are.

A process id alone comes again; with its start and the machine's boot it does not. A part that the
system does not tell is "-". Who cannot be judged from here counts as gone: what they had under way
is uncertain, and is asked about before anything is sent.
"""
from __future__ import annotations

import os
from typing import List


def owner_of_self() -> str:
    pid = str(os.getpid())
    return ' '.join([*_place(), pid, _start_of(pid)])


def is_alive(owner: str) -> bool:
    parts = owner.split(' ')
    if len(parts) != 5 or not parts[3].isdigit() or parts[:3] != _place():
        return False
    pid, start = parts[3:]
    now = _start_of(pid)
    if now == '-':
        return _answers(int(pid))
    return start in ('-', now)


def _place() -> List[str]:
    try:
        space = str(os.stat('/proc/self/ns/pid').st_ino)
    except OSError:
        space = '-'
    return [_word('/etc/machine-id'), _word('/proc/sys/kernel/random/boot_id'), space]


def _word(path: str) -> str:
    try:
        with open(path, encoding='ascii') as file:
            return (file.read(64).split() or ['-'])[0]
    except (OSError, ValueError):
        return '-'


def _start_of(pid: str) -> str:
    """Field 22 of /proc/PID/stat, counted behind the last ")": names may have blanks in them."""
    try:
        with open(f'/proc/{pid}/stat', encoding='latin-1') as file:
            return file.read(1024).rpartition(')')[2].split()[19]
    except (OSError, IndexError):
        return '-'


def _answers(pid: int) -> bool:
    if pid == 0:
        return False
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        pass
    return True
