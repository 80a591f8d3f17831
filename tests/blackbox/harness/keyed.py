"""A little API that honours keys, rightly or with one fault: for `drill` to be right about.

    keyed.py PORT FILE [FAULT]

Things are made by POST /things and /others, listed by GET (?title=) and read by id. Effects are
rows of an SQLite FILE, so they outlive every kill. Without a FAULT a key and its effect are one
transaction. The faults are those one meets:

    check-then-act   looks whether the key is there, then writes; nothing in between holds it
    caches-errors    an error is kept as the answer of its key
    forgets          keys are kept in memory
    late             half a second after a write it is done once more

X-Slow: MS makes a write take its time, X-Fail: STATUS makes it fail before the work. When
FILE.revoked is there, `Bearer c` is refused; when FILE.tomorrow is, older keys are forgotten.
"""
import hashlib
import http.server
import json
import os
import sqlite3
import sys
import threading
import time
import urllib.parse

KEY_MAX = 64
RACE_SECONDS = 0.03
LATE_SECONDS = 0.5


class Shelf:
    def __init__(self, file, fault):
        self.file, self.fault = file, fault
        self.lock = threading.Lock()
        self.memory = {}
        with self.open() as store:
            store.execute('CREATE TABLE IF NOT EXISTS thing (id INTEGER PRIMARY KEY, kind, title, body)')
            store.execute('CREATE TABLE IF NOT EXISTS key (account, key, print, status, body,'
                          ' at, UNIQUE (account, key))')

    def open(self):
        return sqlite3.connect(self.file, timeout=10, isolation_level='IMMEDIATE')

    def find(self, store, account, key):
        tomorrow = self.file + '.tomorrow'
        since = os.stat(tomorrow).st_mtime if os.path.exists(tomorrow) else 0
        if self.fault == 'forgets':
            known = self.memory.get((account, key))
            return known[:3] if known and known[3] >= since else None
        return store.execute('SELECT print, status, body FROM key WHERE account = ? AND key = ?'
                             ' AND at >= ?', (account, key, since)).fetchone()

    def keep(self, store, account, key, print_, status, body):
        if self.fault == 'forgets':
            self.memory[account, key] = print_, status, body, time.time()
        else:
            store.execute('INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?, ?)',
                          (account, key, print_, status, body, time.time()))

    def make(self, store, kind, fields):
        made = store.execute('INSERT INTO thing (kind, title, body) VALUES (?, ?, ?)',
                             (kind, fields.get('title'), json.dumps(fields)))
        return json.dumps({'id': f'{kind}-{made.lastrowid}', **fields})

    def make_again(self, kind, fields):
        with self.lock, self.open() as store:
            self.make(store, kind, fields)

    def write(self, account, key, kind, fields, fail):
        """Status and body of the answer."""
        print_ = hashlib.sha256(json.dumps([kind, fields], sort_keys=True).encode()).hexdigest()
        if self.fault == 'check-then-act':
            return self.check_then_act(account, key, kind, fields, print_, fail)
        with self.lock, self.open() as store:
            store.execute('BEGIN IMMEDIATE')
            return self.look(store, account, key, print_) or \
                self.act(store, account, key, kind, fields, print_, fail)

    def check_then_act(self, account, key, kind, fields, print_, fail):
        with self.open() as store:
            known = self.look(store, account, key, print_)
        if known:
            return known
        time.sleep(RACE_SECONDS)
        with self.lock, self.open() as store:
            return self.act(store, account, key, kind, fields, print_, fail)

    def look(self, store, account, key, print_):
        known = self.find(store, account, key)
        if not known:
            return None
        return (known[1], known[2]) if known[0] == print_ else (422, '{"error": "another body"}')

    def act(self, store, account, key, kind, fields, print_, fail):
        if fail:
            if self.fault == 'caches-errors':
                self.keep(store, account, key, print_, fail, '{"error": "it failed"}')
            return fail, '{"error": "it failed"}'
        body = self.make(store, kind, fields)
        if self.fault == 'late':
            threading.Timer(LATE_SECONDS, self.make_again, (kind, fields)).start()
        self.keep(store, account, key, print_, 201, body)
        return 201, body


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    timeout = 30
    shelf = None

    def log_message(self, *args):
        pass

    def answer(self, status, body):
        body = body.encode()
        self.send_response(status)
        self.send_header('Content-Type', 'application/json')
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        parts = url.path.strip('/').split('/')
        with self.shelf.open() as store:
            if len(parts) == 2:
                row = store.execute('SELECT body FROM thing WHERE id = ?',
                                    (parts[1].rsplit('-', 1)[-1],)).fetchone()
                return self.answer(200, row[0]) if row else self.answer(404, '{}')
            title = urllib.parse.parse_qs(url.query).get('title', [None])[0]
            rows = store.execute('SELECT body FROM thing WHERE kind = ? AND (title = ? OR ? IS NULL)',
                                 (parts[0], title, title)).fetchall()
        return self.answer(200, json.dumps({'data': [json.loads(row[0]) for row in rows]}))

    def do_POST(self):
        length = int(self.headers.get('Content-Length', 0))
        body = self.rfile.read(length)
        if len(body) < length:
            self.close_connection = True
            return None
        account, key = self.headers.get('Authorization', ''), self.headers.get('Idempotency-Key', '')
        if account == 'Bearer c' and os.path.exists(self.shelf.file + '.revoked'):
            return self.answer(401, '{"error": "revoked"}')
        if not 0 < len(key) <= KEY_MAX:
            return self.answer(400, '{"error": "a key of 1 to 64 characters is needed"}')
        time.sleep(int(self.headers.get('X-Slow', 0)) / 1000)
        return self.answer(*self.shelf.write(account, key, self.path.strip('/'), json.loads(body),
                                             int(self.headers.get('X-Fail', 0))))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        pass  # the client went away


if __name__ == '__main__':
    Handler.shelf = Shelf(sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)
    Server(('127.0.0.1', int(sys.argv[1])), Handler).serve_forever()
