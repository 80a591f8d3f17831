"""libcounterfoil: what it exports, what it needs, and programs that are built with it as it is installed."""
import json
import os
import re
import subprocess

import pytest

from harness.caller import Caller
from harness.gate import BINARY, ROOT, is_sanitized
from harness.upstream import Hold, answer, drop, held

BUILD = BINARY.parent
LIBRARY = BUILD / 'src' / 'libcounterfoil.so'
NEEDED = {'libcurl', 'libsqlite3', 'libcrypto', 'libsodium', 'libc', 'libpthread', 'libm', 'ld-linux-x86-64',
          'ld-linux-aarch64'}
SECONDS = 60


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SECONDS, **options)


@pytest.fixture(scope='module')
def place(tmp_path_factory):
    """The library, its header and its .pc file, as they are installed."""
    if not LIBRARY.exists():
        pytest.skip('this build has no library')
    if is_sanitized():
        pytest.skip('what is built with a sanitized library has to be sanitized itself')
    root = tmp_path_factory.mktemp('installed')
    done = run('meson', 'install', '-C', BUILD, '--no-rebuild', '--destdir', root)
    assert done.returncode == 0, done.stdout + done.stderr
    return root


@pytest.fixture(scope='module')
def compile_with(place, tmp_path_factory):
    pc = next(place.rglob('counterfoil.pc'))
    shared = next(place.rglob('libcounterfoil.so.0'))
    environment = {**os.environ, 'PKG_CONFIG_SYSROOT_DIR': str(place), 'PKG_CONFIG_PATH': str(pc.parent),
                   'PKG_CONFIG_ALLOW_SYSTEM_CFLAGS': '1', 'PKG_CONFIG_ALLOW_SYSTEM_LIBS': '1'}
    flags = run('pkg-config', '--cflags', '--libs', 'counterfoil', env=environment).stdout.split()
    assert '-lcounterfoil' in flags

    def build(source, *compiler):
        program = tmp_path_factory.mktemp('program') / 'program'
        done = run(*(compiler or ('cc', '-std=c99', '-Wall', '-Wextra', '-pedantic', '-Werror')), source, *flags,
                   '-Wl,-rpath,' + str(shared.parent), '-o', program)
        assert done.returncode == 0, done.stderr
        return program
    return build


def test_what_it_exports(place):
    # Shows that only functions with the library's prefix, and all of the header's, can be linked.
    listed = run('nm', '-D', '--defined-only', next(place.rglob('libcounterfoil.so.0'))).stdout.split('\n')
    names = {line.split()[-1] for line in listed if line}
    declared = set(re.findall(r'\b(counterfoil_\w+)\(', re.sub(r'/\*.*?\*/', '', (ROOT / 'include' / 'counterfoil.h').read_text(), flags=re.S)))
    assert names == declared and len(names) > 20


def test_what_it_needs(place):
    # Shows that a program gets no other library with it than these.
    told = run('readelf', '-d', next(place.rglob('libcounterfoil.so.0'))).stdout
    needed = set(re.findall(r'NEEDED.*\[([\w.+-]+?)\.so', told))
    assert needed and needed <= NEEDED, needed
    assert 'libcounterfoil.so.0' in re.findall(r'SONAME.*\[(.*)\]', told)


@pytest.mark.parametrize('compiler', [('cc', '-std=c89'), ('c++', '-x', 'c++')], ids=['c89', 'c++'])
def test_the_header(compiler, tmp_path):
    # Shows that the header alone compiles as C89 and as C++ without a warning.
    source = tmp_path / 'header.c'
    source.write_text('#include <counterfoil.h>\nint main(void) { return counterfoil_version() == 0; }\n')
    done = run(*compiler, '-Wall', '-Wextra', '-pedantic', '-Werror', '-fsyntax-only', '-I', ROOT / 'include', source)
    assert done.returncode == 0, done.stderr


def test_the_example_is_c_plus_plus_too():
    # Shows that the example reads as C++ as it stands.
    done = run('c++', '-x', 'c++', '-Wall', '-Wextra', '-Werror', '-fsyntax-only', '-I', ROOT / 'include',
               ROOT / 'examples' / 'library' / 'pay.c')
    assert done.returncode == 0, done.stderr


def test_the_example(compile_with, start_gate, sandbox, tmp_path):
    # Shows that the installed example makes one effect at the service behind a gate, however often it is run.
    gate = start_gate(sandbox)
    program = compile_with(ROOT / 'examples' / 'library' / 'pay.c')
    command = (program, f'http://127.0.0.1:{gate.port}/v1/tickets', 'invoice 1873', 'pay')
    environment = {**os.environ, 'COUNTERFOIL_JOURNAL': str(tmp_path / 'state' / 'journal.db')}
    first, again = (run(*command, env=environment) for _ in range(2))
    assert (first.returncode, first.stdout, first.stderr) == (
        0, 'send created 201 token\nresolve replayed stop\n', '')
    assert (again.returncode, again.stdout, again.stderr) == (
        0, 'send replayed 201 token\nresolve replayed stop\n', '')
    assert sandbox.kinds()['tickets'] == 1


def test_killed_while_the_service_works(compile_with, gate, upstream, path, tmp_path):
    # Shows that what a killed program began is found out by `counterfoil call` over the same journal, and not sent again.
    caller, hold = Caller(tmp_path / 'agent'), Hold()
    upstream.plan(path, held(hold))
    url = f'http://127.0.0.1:{gate.port}{path}'
    program = compile_with(ROOT / 'examples' / 'library' / 'pay.c')
    process = subprocess.Popen([program, url, 'invoice 1873', 'pay'], env=caller.env,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    hold.wait_entered()
    caller.kill9(process)
    assert [entry['state'] for entry in caller.entries()] == ['sending']
    hold.release()
    body = {'title': 'Pay invoice 1873', 'project': 'web'}
    done = caller.call(url, body, task='invoice 1873', step='pay', wait=20)
    assert (done.status, done['outcome'], done['attempts']) == (0, 'replayed', 1), done
    again = run(program, url, 'invoice 1873', 'pay', env=caller.env)
    assert (again.returncode, again.stdout) == (0, 'send replayed 201 token\nresolve replayed stop\n')
    assert upstream.effects(path) == 1


def test_a_lost_answer_of_a_plain_service(compile_with, upstream, path, tmp_path):
    # Shows that where nobody can be asked nothing is sent again, and that a library writes nothing to stderr.
    upstream.plan(path, drop())
    program = compile_with(ROOT / 'examples' / 'library' / 'pay.c')
    environment = {**os.environ, 'COUNTERFOIL_JOURNAL': str(tmp_path / 'state' / 'journal.db')}
    for _ in range(2):
        done = run(program, upstream.url + path, 'invoice 1873', 'pay', env=environment)
        assert (done.returncode, done.stderr) == (1, '')
        assert done.stdout == 'send unknown 0 token\nresolve unknown human\n'
    assert upstream.effects(path) == 1


def test_the_json_of_a_result(compile_with, gate, upstream, path, tmp_path):
    # Shows that a program has the very line that `counterfoil call` prints, also of bodies that are no text.
    source = tmp_path / 'tell.c'
    source.write_text('''
#include <counterfoil.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	counterfoil_journal *journal;
	counterfoil_request *request = counterfoil_request_new("POST", argv[argc - 1]);
	counterfoil_result *result = NULL;

	counterfoil_request_set_step(request, "task", "step");
	counterfoil_request_set_body(request, "application/json", "{}", 2);
	if (counterfoil_journal_open(NULL, &journal) == 0 &&
	    counterfoil_send(journal, request, &result) == 0)
		puts(counterfoil_result_json(result));
	counterfoil_result_free(result);
	counterfoil_journal_close(journal);
	counterfoil_request_free(request);
	return 0;
}
''')
    program, url = compile_with(source), f'http://127.0.0.1:{gate.port}{path}'
    for number, body in enumerate((b'{"id": 7,\n "by": "\xc2\x9b"}', b'text', b'\x00\xff')):
        caller = Caller(tmp_path / str(number))
        upstream.plan(path, answer(201, body=body))
        first = run(program, url, env={**caller.env})
        assert json.loads(first.stdout)['status'] == 201, first
        caller_line = caller.call(url, '{}').stdout
        assert run(program, url, env=caller.env).stdout == caller_line
        url += '-next'
        path += '-next'


def test_forked(compile_with, tmp_path):
    # Shows that a forked child draws other tokens for new actions than its parent.
    source = tmp_path / 'forked.c'
    source.write_text('''
#include <counterfoil.h>
#include <stdio.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void draw(const char *path)
{
	char token[COUNTERFOIL_TOKEN_SIZE] = "";
	counterfoil_journal *journal;
	counterfoil_request *request = counterfoil_request_new("POST", "http://h.test/");

	counterfoil_request_set_step(request, "t", "s");
	counterfoil_request_set_flags(request, COUNTERFOIL_NEW);
	if (counterfoil_journal_open(path, &journal) != 0 ||
	    counterfoil_token(journal, request, token, sizeof(token)) != 0)
		puts(counterfoil_error());
	puts(token);
	fflush(stdout);
	counterfoil_journal_close(journal);
	counterfoil_request_free(request);
}

int main(int argc, char **argv)
{
	pid_t child;

	if (argc != 4)
		return 2;
	draw(argv[1]);
	child = fork();
	if (child != 0)
		waitpid(child, NULL, 0);
	draw(child == 0 ? argv[2] : argv[3]);
	return 0;
}
''')
    program = compile_with(source, 'cc', '-std=gnu99')
    done = run(program, *(tmp_path / name / 'journal.db' for name in 'abc'))
    tokens = done.stdout.split()
    assert done.returncode == 0 and len(tokens) == 3 == len(set(tokens)), done.stdout
