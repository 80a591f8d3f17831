"""The journal: which token stands for which step, on disk before the first byte is sent.

One SQLite file that every program of one user shares, whatever language it is written in. An entry
is what is remembered of one token: what was sent under it, who is at it, what is known of its end.

Always true: a token is committed before anybody is told it; an entry has one owner at most that is
alive; what is done or has failed is never sent again; an entry whose owner died while it was
sending is uncertain until somebody finds out.
Can fail: Refused, and nothing has changed then.

Any number of processes and threads may use one file at once.
"""
from __future__ import annotations

import contextlib
import os
import sqlite3
import stat
import threading
import time
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple, Union

from . import identity, owner
from .identity import Refused, Step
from .payload import Payload, difference

APPLICATION_ID = 0x43464A31
VERSION = 1
BUSY_S = 10
EVENTS_MAX = 200
NOTE_BYTES_MAX = 500
BODY_BYTES_MAX = 1024 * 1024

SCHEMA = (
    """CREATE TABLE entry (
  id           INTEGER PRIMARY KEY AUTOINCREMENT,
  task         TEXT, step TEXT,
  method       TEXT NOT NULL, url TEXT NOT NULL,
  token        TEXT NOT NULL,
  is_current   INTEGER NOT NULL DEFAULT 1,
  state        TEXT NOT NULL,
  owner        TEXT,
  payload      TEXT,
  members      TEXT,
  credential   TEXT,
  is_gate      INTEGER NOT NULL DEFAULT 0,
  outcome      TEXT,
  operation    TEXT,
  status       INTEGER, headers TEXT, body BLOB, body_file TEXT,
  advice       TEXT, after_s INTEGER,
  reason       TEXT,
  attempts     INTEGER NOT NULL DEFAULT 0,
  created_ms   INTEGER NOT NULL, changed_ms INTEGER NOT NULL
)""",
    """CREATE UNIQUE INDEX entry_step ON entry (task, step, method, url)
  WHERE is_current = 1 AND task IS NOT NULL""",
    'CREATE UNIQUE INDEX entry_token ON entry (token, method, url)',
    """CREATE TABLE event (
  entry INTEGER NOT NULL REFERENCES entry(id) ON DELETE CASCADE, at_ms INTEGER NOT NULL,
  what TEXT NOT NULL,
  note TEXT NOT NULL DEFAULT ''
)""",
    'CREATE INDEX event_entry ON event (entry, at_ms)',
    f'PRAGMA application_id = {APPLICATION_ID}',
    f'PRAGMA user_version = {VERSION}',
)


class Entry(NamedTuple):
    """A row of the journal, in the order of its columns."""
    id: int
    task: Optional[str]
    step: Optional[str]
    method: str
    url: str
    token: str
    is_current: int
    state: str
    owner: Optional[str]
    payload: Optional[str]
    members: Optional[str]
    credential: Optional[str]
    is_gate: int
    outcome: Optional[str]
    operation: Optional[str]
    status: Optional[int]
    headers: Optional[str]
    body: Optional[bytes]
    body_file: Optional[str]
    advice: Optional[str]
    after_s: Optional[int]
    reason: Optional[str]
    attempts: int
    created_ms: int
    changed_ms: int


COLUMNS = ', '.join(Entry._fields)

# (device, file, entry) of claims that this process could not settle. An owner's name stands for the process,
# which is still alive: without this its own next try would be kept out until it ends.
_left: Set[Tuple[int, int, int]] = set()


def default_path() -> Path:
    given = os.environ.get('COUNTERFOIL_JOURNAL')
    if given:
        return Path(given)
    state = os.environ.get('XDG_STATE_HOME', '')
    home = os.environ.get('HOME', '')
    if not os.path.isabs(state):
        if not home:
            raise Refused('there is no home folder for the journal: name it in COUNTERFOIL_JOURNAL')
        state = os.path.join(home, '.local', 'state')
    return Path(state, 'counterfoil', 'journal.db')


class Store:
    """The open file. Each method is one transaction."""

    def __init__(self, path: Union[None, str, 'os.PathLike[str]'] = None) -> None:
        self.path = Path(path) if path is not None else default_path()
        self._lock = threading.Lock()
        _make_private(self.path)
        try:
            self._db = sqlite3.connect(str(self.path), timeout=BUSY_S, isolation_level=None,
                                       check_same_thread=False)
            self._db.text_factory = lambda data: data.decode('utf-8', 'replace')
            self._check_format()
            found = self.path.stat()
            self._file = (found.st_dev, found.st_ino)
            for pragma in ('journal_mode = DELETE', 'synchronous = EXTRA', 'foreign_keys = ON',
                           'trusted_schema = OFF'):
                self._db.execute(f'PRAGMA {pragma}')
        except sqlite3.Error as error:
            raise Refused(f'the journal {self.path} cannot be used: {error}') from error

    def close(self) -> None:
        self._db.close()

    def entry_of(self, step: Step, is_new: bool = False) -> Tuple[Entry, Optional[str]]:
        """The current entry of a step, made where there is none. `is_new`: a deliberate new action
        takes the place of the one that is there; then also the operation it comes after, if that failed."""
        if is_new and step.token:
            raise Refused('a token given by hand stands for one action: give another one')
        with self._transaction():
            before = self._current(step)
            if before and not is_new:
                return before, None
            if before and self._is_busy(before):
                raise Refused('somebody is at this step now: wait for its end before a new action')
            if before:
                self._db.execute('UPDATE entry SET is_current = 0 WHERE id = ?', (before.id,))
            token = step.token or (identity.draw_token() if is_new else identity.derive_token(step))
            now = _now_ms()
            made = self._db.execute(
                'INSERT INTO entry (task, step, method, url, token, state, created_ms, changed_ms)'
                " VALUES (?, ?, ?, ?, ?, 'new', ?, ?)",
                (step.task, step.step, step.method, step.url, token, now, now)).lastrowid
            self._add_event(made, 'made')
            failed = before.operation if before and before.state == 'failed' else None
            return self._entry(made), failed

    def claim(self, entry_id: int, payload: Optional[Payload], mark: Optional[str]) -> Tuple[str, Entry, str]:
        """Become the owner of an entry, to send or (payload None) to find out.

        ('ours', entry as it was, '') – state "new": it is now "sending" and may be sent; else ask first;
        ('busy', …), ('ended', …); ('changed', …, the difference); ('new', …): nothing to find out.
        """
        is_taken = False
        try:
            with self._transaction():
                entry = self._entry(entry_id)
                if payload and entry.payload and entry.payload != payload.digest:
                    return 'changed', entry, difference(entry.members, payload.members)
                if entry.state in ('done', 'failed'):
                    return 'ended', entry, ''
                if self._is_busy(entry):
                    return 'busy', entry, ''
                if entry.state == 'new' and not payload:
                    return 'new', entry, ''
                is_taken = True
                self._take(entry, payload, mark)
            return 'ours', entry, ''
        except BaseException:
            if is_taken:  # a commit that fails may have reached the disk
                self.leave(entry_id)
            raise

    def leave(self, entry_id: int) -> None:
        """Nobody is at what was claimed here and could not be settled: this process may claim it again."""
        _left.add((*self._file, entry_id))

    def _is_busy(self, entry: Entry) -> bool:
        """Is somebody at it? Not where that is this process, which has left it behind."""
        is_left = (*self._file, entry.id) in _left and entry.owner == owner.owner_of_self()
        return bool(entry.owner and not is_left and owner.is_alive(entry.owner))

    def _take(self, entry: Entry, payload: Optional[Payload], mark: Optional[str]) -> None:
        _left.discard((*self._file, entry.id))
        if entry.state != 'new' or not payload:
            self._change(entry.id, 'taken_over', '', owner=owner.owner_of_self())
            return
        self._change(entry.id, 'sent', '', owner=owner.owner_of_self(), state='sending',
                     payload=payload.digest, members=payload.members, credential=mark,
                     attempts=entry.attempts + 1)

    def send_again(self, entry_id: int, mark: Optional[str], note: str) -> None:
        """A claimed entry is about to be sent once more: committed before its first byte."""
        with self._transaction():
            entry = self._ours(entry_id)
            self._change(entry_id, 'sent', note, state='sending', credential=mark,
                         attempts=entry.attempts + 1)

    def settle(self, entry_id: int, columns: Dict[str, Any], what: str, note: str, is_still_ours: bool,
               is_forgotten: bool) -> Entry:
        """Write what was learnt, and let go of the entry unless `is_still_ours`; the entry as it is then."""
        with self._transaction():
            self._ours(entry_id)
            if is_forgotten:
                columns = {**columns, 'payload': None, 'members': None, 'credential': None}
            if not is_still_ours:
                columns = {**columns, 'owner': None}
            self._change(entry_id, what, note, **columns)
            return self._entry(entry_id)

    def events(self, entry_id: int) -> List[Tuple[int, str, str]]:
        with self._lock:
            return self._db.execute('SELECT at_ms, what, note FROM event WHERE entry = ? ORDER BY rowid',
                                    (entry_id,)).fetchall()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            try:
                self._db.execute('BEGIN IMMEDIATE')
                try:
                    yield
                    self._db.execute('COMMIT')
                finally:
                    if self._db.in_transaction:
                        self._db.execute('ROLLBACK')
            except sqlite3.Error as error:
                raise Refused(f'the journal {self.path} cannot be used: {error}') from error

    def _check_format(self) -> None:
        if self._pragma('application_id') == 0 and self._pragma('user_version') == 0:
            with self._transaction():
                if not self._db.execute('SELECT 1 FROM sqlite_master').fetchone():
                    for statement in SCHEMA:
                        self._db.execute(statement)
        if self._pragma('application_id') != APPLICATION_ID:
            raise Refused(f'{self.path} is a database of another program: name another file for the journal')
        if self._pragma('user_version') != VERSION:
            raise Refused(f'the journal {self.path} was written by a newer version: update this one')

    def _pragma(self, name: str) -> int:
        return self._db.execute(f'PRAGMA {name}').fetchone()[0]

    def _current(self, step: Step) -> Optional[Entry]:
        """That of the step; or one whose token was given by hand, and is the very token of the step."""
        row = self._db.execute(
            f'SELECT {COLUMNS} FROM entry WHERE method = ?3 AND url = ?4 AND ('
            '(task = ?1 AND step = ?2 AND is_current = 1) OR (token = ?5 AND (?1 IS NULL OR task IS NULL)))'
            ' ORDER BY task IS NULL LIMIT 1',
            (step.task, step.step, step.method, step.url, step.token or identity.derive_token(step))).fetchone()
        return Entry(*row) if row else None

    def _entry(self, entry_id: Optional[int]) -> Entry:
        row = self._db.execute(f'SELECT {COLUMNS} FROM entry WHERE id = ?', (entry_id,)).fetchone()
        if not row:
            raise Refused('the entry of this step was forgotten meanwhile')
        return Entry(*row)

    def _ours(self, entry_id: int) -> Entry:
        entry = self._entry(entry_id)
        if entry.owner != owner.owner_of_self():
            raise Refused('somebody else has taken over this entry')
        return entry

    def _change(self, entry_id: int, what: str, note: str, **columns: Any) -> None:
        columns['changed_ms'] = _now_ms()
        setting = ', '.join(f'{name} = ?' for name in columns)
        self._db.execute(f'UPDATE entry SET {setting} WHERE id = ?', (*columns.values(), entry_id))
        self._add_event(entry_id, what, note)

    def _add_event(self, entry_id: Optional[int], what: str, note: str = '') -> None:
        cut = note.encode('utf-8', 'replace')[:NOTE_BYTES_MAX].decode('utf-8', 'ignore')
        self._db.execute('INSERT INTO event (entry, at_ms, what, note) VALUES (?, ?, ?, ?)',
                         (entry_id, _now_ms(), what, cut))
        self._db.execute('DELETE FROM event WHERE entry = ? AND rowid NOT IN (SELECT rowid FROM event'
                         f' WHERE entry = ? ORDER BY rowid DESC LIMIT {EVENTS_MAX})', (entry_id, entry_id))


def _now_ms() -> int:
    return time.time_ns() // 1_000_000


def _make_private(path: Path) -> None:
    """The file and its folders, readable by nobody else."""
    try:
        missing = [folder for folder in path.parents if not folder.exists()]
        for folder in reversed(missing):
            folder.mkdir(mode=0o700, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        found = path.stat()
    except OSError as error:
        raise Refused(f'the journal {path} cannot be made: {error.strerror}') from error
    if not stat.S_ISREG(found.st_mode):
        raise Refused(f'the journal {path} is no file')
    if os.name == 'posix' and found.st_uid != os.geteuid():
        raise Refused(f'the journal {path} belongs to another user: name one of your own')
    if os.name == 'posix' and found.st_mode & 0o077:
        raise Refused(f'the journal {path} can be read by others: chmod 600 it')
