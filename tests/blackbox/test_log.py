"""The log: JSON lines that say what happened and never what was secret."""
import os
import pathlib
import subprocess
import time

import pytest

from harness.gate import BINARY, config
from harness.upstream import answer, drop


def test_lines_are_json_with_time_and_event(gate, path, token):
    # Shows that every line on stderr is one JSON object with a time and a level.
    gate.wait_log(gate.post(path, token).operation)
    lines = gate.log_lines()
    for line in lines:
        assert isinstance(line, dict)
        assert line.get('time') and line.get('level') and line.get('event'), line


def test_a_write_is_in_the_log_by_its_operation(gate, path, token):
    # Shows that what the log says of a write can be found by the operation's id.
    operation = gate.post(path, token).operation
    gate.wait_log(operation)


@pytest.mark.parametrize('level', ['debug', 'info'])
def test_no_secrets(start_gate, upstream, path, token, account, level):
    # Shows at every level and for every kind of end: no token, credential, cookie, query, body or
    # answer is in the log.
    gate = start_gate(upstream, config(upstream, log={'level': level}))
    marks = ['in-the-body-of-it', 'in-the-query-of-it', 'in-a-cookie-of-it', 'in-the-answer-of-it',
             'in-a-header-of-it', token, account.split()[1]]
    headers = {'Cookie': 'c=in-a-cookie-of-it', 'X-Api-Key': 'in-a-header-of-it'}
    target = path + '?api_key=in-the-query-of-it'
    upstream.plan(path, answer(201, body=b'in-the-answer-of-it'), drop(),
                  answer(503, body=b'in-the-answer-of-it', works=False),
                  answer(400, body=b'in-the-answer-of-it'), drop())
    for n in range(5):
        for _ in range(2):
            gate.post(target, f'{token}-{n}', account=account, headers=headers,
                      json={'s': 'in-the-body-of-it'})
    gate.request('POST', target, token=token + '-0', account=account, json={'s': 'in-the-body-of-it', 'other': 1})
    gate.request('POST', target, token=token + ' bad', account=account, body=b'in-the-body-of-it')
    gate.post(target, token + '-x', account=account, headers={'Content-Type': 'application/json'},
              body=b'{in-the-body-of-it')
    gate.request('GET', target, account=account, headers=headers)
    gate.get(f'/.counterfoil/operations?token={token}-0', account=account)
    with gate.connect() as connection:
        connection.send(f'POST {target} HTTP/1.1\r\nIdempotency-Key: {token}\r\n'
                        'Bad Header: in-a-header-of-it\r\n\r\n'.encode())
        connection.read_all(2)
    gate.terminate()
    assert gate.wait_exit() == 0
    text = '\n'.join(gate.log + gate.stdout[1:])
    assert gate.log
    for mark in marks:
        assert mark not in text, mark


def test_the_log_cannot_be_forged(gate, upstream):
    # Shows that what a client sends cannot begin a line of its own.
    gate.get('/v1/x%0A%7B%22level%22%3A%22error%22%7D')
    gate.get('/v1/x', headers={'User-Agent': '"}{"level":"error"'})
    gate.log_lines()


def test_a_log_nobody_reads(start_gate, upstream, path, token):
    # Shows that a reader that does not read the log cannot stop the gate.
    import subprocess
    from harness.gate import BINARY, ADDRESS
    data = start_gate(upstream).directory / 'other'
    process = subprocess.Popen([str(BINARY), 'serve', '--upstream', upstream.url, '--listen', '127.0.0.1:0',
                                '--admin', '127.0.0.1:0', '--data', str(data)],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        from harness.client import Connection
        port = int(ADDRESS.findall(process.stdout.readline().decode())[0])
        with Connection(port, timeout=20) as connection:
            for n in range(3000):
                assert connection.request('GET', path).status == 200
    finally:
        process.kill()
        process.communicate()


def test_without_standard_files(tmp_path, upstream):
    # Shows that a gate started without stdin, stdout and stderr writes its log into no socket or pipe of its own.
    data = tmp_path / 'data'
    gate = subprocess.Popen(
        ['bash', '-c', 'exec "$0" "$@" <&- >&- 2>&-', BINARY, 'serve', '--upstream', upstream.url,
         '--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--data', data])
    try:
        deadline = time.monotonic() + 20
        while not (data / 'gate.json').exists():
            assert time.monotonic() < deadline and gate.poll() is None
            time.sleep(0.01)
        files = pathlib.Path('/proc', str(gate.pid), 'fd')
        assert [os.readlink(files / n) for n in '012'] == ['/dev/null'] * 3
    finally:
        gate.terminate()
        assert gate.wait(15) == 0
