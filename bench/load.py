"""Load: wrk for a few seconds, and single requests of the same kind.

A kind says what is sent: first writes, of which each carries a key of its own; such writes whose
business and resource are their own, too (`rules`); or replays of keys that have been completed
before. What they are compared with gets the very same requests.
"""
import http.client
import json
import os
import pathlib
import resource
import socket
import subprocess

SCRIPT = pathlib.Path(__file__).with_name('load.lua')
REPLAY_KEYS = 1000
TIMEOUT_S = 10

# As in load.lua, byte for byte: a replay must be the same command.
BODY = ('{"project":"apollo","title":"The third valve of tank two sticks",'
        '"priority":"normal","reporter":"agent-7","labels":["valve","tank-2"],'
        '"source_event_id":"evt_01HZX4Q9T7","estimate":12.50,"urgent":false}')


def key_of(name, i):
    """The key of request i of the first thread; keep in step with load.lua."""
    return f'{(i * 2654435761) % 4294967296:08x}-{name}00-{i:07x}'


def wrk(address, connections, seconds, kind, name):
    """Drive `address`; what wrk saw, and its own CPU."""
    threads = max(1, min(connections, (os.cpu_count() or 1) // 2))
    command = ['wrk', '-t', str(threads), '-c', str(connections), '-d', f'{seconds}s',
               '--timeout', f'{TIMEOUT_S}s', '-s', str(SCRIPT), f'http://{address}/v1/tickets',
               '--', kind, name, str(REPLAY_KEYS)]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=seconds + 3 * TIMEOUT_S, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    lines = [line for line in done.stdout.split('\n') if line.startswith('BENCH ')]
    if done.returncode != 0 or len(lines) != 1:
        raise RuntimeError(f'wrk failed:\n{done.stdout}')
    seen = json.loads(lines[0][len('BENCH '):])
    seen['wrk_cpu_us'] = 1e6 * (after.ru_utime - before.ru_utime +
                                after.ru_stime - before.ru_stime)
    return seen


def post(connection, key):
    """One write over an open connection; its status."""
    connection.request('POST', '/v1/tickets', BODY, {'Content-Type': 'application/json',
                                                     'Idempotency-Key': key})
    answer = connection.getresponse()
    answer.read()
    return answer.status


def complete_keys(address, name):
    """Make the first writes that `replay` repeats."""
    connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
    for i in range(REPLAY_KEYS):
        status = post(connection, key_of(name, i))
        if status != 201:
            raise RuntimeError(f'{address} answered {status} to a first write')
    connection.close()


def open_connections(address, name, count):
    """`count` connections that have made a write each and stay open."""
    connections = []
    for i in range(count):
        connection = http.client.HTTPConnection(address, timeout=TIMEOUT_S)
        connections.append(connection)
        status = post(connection, key_of(name, i))
        if status != 201:
            raise RuntimeError(f'{address} answered {status} to connection {i}')
    return connections


def are_open(connections):
    """Whether the other side has closed none of them."""
    for connection in connections:
        sock = connection.sock
        if sock is None:
            return False
        sock.setblocking(False)
        try:
            if sock.recv(1, socket.MSG_PEEK) == b'':
                return False
        except BlockingIOError:
            pass
        finally:
            sock.settimeout(TIMEOUT_S)
    return True
