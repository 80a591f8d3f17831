"""The data directory: one gate at a time, private, and honest when the disk is not."""
import os
import pathlib
import stat
import subprocess

import pytest

from harness.client import assert_problem
from harness.disk import SmallDisk, can_mount, file_size_limit
from harness.gate import command, files_of
from harness.upstream import answer


def ended(gate, seconds=10):
    """Exit status and messages of a gate that was only launched."""
    status = gate.wait_exit(seconds)
    return status, '\n'.join(gate.log + gate.stdout)


def test_it_is_made_and_private(start_gate, upstream, path, token):
    # Shows that the directory is made, and that neither it nor its files are others' to read.
    gate = start_gate(upstream)
    gate.post(path, token)
    assert stat.S_IMODE(gate.data.stat().st_mode) & 0o077 == 0
    for file, facts in files_of(gate.data, pathlib.Path.stat):
        assert stat.S_IMODE(facts.st_mode) & 0o007 == 0, file


def test_no_credential_is_kept(start_gate, upstream, path, token):
    # Shows that the Authorization value itself is nowhere in what is stored.
    gate = start_gate(upstream)
    secret = 'Bearer never-to-be-written-down-77'
    gate.post(path, token, account=secret)
    gate.terminate()
    assert gate.wait_exit() == 0
    for file, content in files_of(gate.data):
        assert b'never-to-be-written-down-77' not in content, file


def test_a_second_gate_is_refused(start_gate, upstream, path, token):
    # Shows that a second gate on the same data ends with a message that says so; the first goes on.
    first = start_gate(upstream)
    second = start_gate(upstream, launch_only=True, data=first.data)
    status, text = ended(second)
    assert status in (1, 2)
    assert str(first.data) in text or str(first.pid) in text, text
    assert first.post(path, token).outcome == 'created'


def test_a_dead_gates_lock_is_no_lock(start_gate, upstream, path, token):
    # Shows that a killed gate leaves nothing behind that keeps the next one out.
    gate = start_gate(upstream)
    gate.post(path, token)
    gate.kill9()
    gate.restart()
    assert gate.post(path, token).outcome == 'replayed'


def test_a_path_that_is_no_directory(start_gate, upstream, tmp_path):
    # Shows that a data path that cannot be one ends the start with its name.
    file = tmp_path / 'a-file'
    file.write_text('x')
    status, text = ended(start_gate(upstream, launch_only=True, data=file))
    assert status in (1, 2) and 'a-file' in text


def test_a_directory_that_cannot_be_written(start_gate, upstream, tmp_path):
    # Shows that a read-only data directory ends the start with a message that names it.
    where = tmp_path / 'read-only-disk'
    if can_mount(tmp_path / 'probe'):
        disk = SmallDisk(where, 1 << 20, 'ro')
    elif os.geteuid() != 0:
        where.mkdir(mode=0o500)
        disk = None
    else:
        pytest.skip('root without mount: nothing is read-only')
    try:
        status, text = ended(start_gate(upstream, launch_only=True, data=where))
        assert status in (1, 2) and 'read-only-disk' in text
    finally:
        if disk:
            disk.release()


def test_garbage_in_place_of_the_store(start_gate, upstream, path, token):
    # Shows that a damaged database is refused at the start, and never replaced by an empty one.
    gate = start_gate(upstream)
    gate.post(path, token)
    gate.terminate()
    assert gate.wait_exit() == 0
    largest = max((f for f in gate.data.rglob('*') if f.is_file()), key=lambda f: f.stat().st_size)
    largest.write_bytes(b'this is no database ' * 1000)
    for extra in largest.parent.glob(largest.name + '-*'):
        extra.unlink()
    again = start_gate(upstream, launch_only=True, data=gate.data)
    status, text = ended(again)
    assert status in (1, 2) and largest.name in text
    assert largest.read_bytes().startswith(b'this is no database')


def write_until_refused(gate, upstream, path, token, most):
    """Write under fresh tokens until the store refuses; what each write was told."""
    told = {}
    for n in range(most):
        upstream.plan(f'{path}-{n}', answer(201, body=b'%06d' % n + b'x' * 20000))
        told[n] = gate.post(f'{path}-{n}', f'{token}-{n}')
        if told[n].slug == 'store-unavailable':
            return told
    raise AssertionError(f'{most} writes, and the disk was never full')


def check_told(upstream, path, told):
    """Whatever the disk did, effects are as the answers say."""
    for n, response in told.items():
        effects = upstream.effects(f'{path}-{n}')
        if response.slug == 'store-unavailable':
            assert_problem(response, 503, 'store-unavailable', operation=False, advice={'same_key', 'wait'})
            assert effects == 0, f'{n}: refused, but sent'
        else:
            assert response.outcome in ('created', 'unknown'), response
            assert effects == 1


def test_a_full_disk(start_gate, upstream, path, token, tmp_path):
    # Shows that on a full disk writes are refused before anything is sent, that reads pass, and
    # that all is well once there is room again.
    if not can_mount(tmp_path / 'probe'):
        pytest.skip('needs to mount a small disk')
    disk = SmallDisk(tmp_path / 'small', 12 << 20)
    try:
        gate = start_gate(upstream, data=tmp_path / 'small' / 'data')
        filler = disk.fill(leave=300000)
        told = write_until_refused(gate, upstream, path, token, 400)
        check_told(upstream, path, told)
        assert gate.get(path).status == 200
        assert gate.admin('/readyz').status == 503
        filler.unlink()
        last = max(told)
        assert_recovers(gate, f'{path}-{last}', f'{token}-{last}')
        assert upstream.effects(f'{path}-{last}') == 1
        for n, response in told.items():
            if response.outcome == 'created':
                again = gate.post(f'{path}-{n}', f'{token}-{n}')
                assert (again.outcome, again.body) == ('replayed', response.body)
                assert upstream.effects(f'{path}-{n}') == 1
        gate.terminate()
        assert gate.wait_exit() == 0
    finally:
        disk.release()


def test_a_file_that_may_not_grow(start_gate, upstream, path, token):
    # Shows the same where it is a limit on file size that stops the store; the gate lives on.
    gate = start_gate(upstream, preexec=file_size_limit(1 << 20))
    told = write_until_refused(gate, upstream, path, token, 400)
    check_told(upstream, path, told)
    assert gate.get(path).status == 200 and gate.is_running
    gate.kill9()
    gate.preexec = None
    gate.restart()
    for n, response in told.items():
        if response.outcome == 'created':
            assert gate.post(f'{path}-{n}', f'{token}-{n}').body == response.body
            assert upstream.effects(f'{path}-{n}') == 1


def assert_recovers(gate, path, token):
    import time
    deadline = time.monotonic() + 10
    while (response := gate.post(path, token)).slug == 'store-unavailable':
        assert time.monotonic() < deadline, 'there is room again, and still it refuses'
        time.sleep(0.2)
    assert response.outcome in ('created', 'replayed'), response


def test_the_data_can_be_opened_by_other_tools(start_gate, upstream, path, token):
    # Shows that the embedded store is an SQLite database in WAL mode that passes its own check.
    import sqlite3
    gate = start_gate(upstream)
    gate.post(path, token)
    gate.terminate()
    assert gate.wait_exit() == 0
    databases = [f for f in gate.data.rglob('*') if f.is_file() and f.read_bytes()[:15] == b'SQLite format 3']
    assert databases
    for file in databases:
        with sqlite3.connect(file) as database:
            assert database.execute('PRAGMA integrity_check').fetchone() == ('ok',)
            assert database.execute('PRAGMA journal_mode').fetchone() == ('wal',)


def test_two_gates_on_two_directories(start_gate, upstream, path, token):
    # Shows that tokens belong to the data: another directory knows nothing of them.
    one, two = start_gate(upstream), start_gate(upstream)
    assert one.post(path, token).outcome == two.post(path, token).outcome == 'created'
    assert upstream.effects(path) == 2
    assert subprocess.run(['test', one.data, '-ef', two.data]).returncode != 0


@pytest.mark.parametrize('mode', [0o770, 0o702], ids=oct)
def test_a_directory_that_others_write(tmp_path, upstream, mode):
    # Shows that a directory whose files others could replace is refused, and how to mend it.
    data = tmp_path / 'data'
    data.mkdir()
    data.chmod(mode)
    done = command('serve', '--upstream', upstream.url, '--data', data, seconds=10)
    assert done.returncode == 1 and f'chmod 700 {data}' in done.stderr
    assert list(data.iterdir()) == []


def test_a_directory_that_others_list(tmp_path, start_gate, upstream):
    # Shows that one which others can only look at will do: the files in it are private.
    data = tmp_path / 'data'
    data.mkdir()
    data.chmod(0o755)
    assert start_gate(upstream, data=data).is_running
