"""Shows that tools/run starts the practice API and the gate, and leaves nothing behind.

The program is a stand-in that keeps to the words of the command line: `sandbox` answers
/effects, `serve` answers /readyz on its admin address, and both write down their ends.
"""
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import unittest

RUN = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'run'
STAND_IN = f"""#!{sys.executable}
import http.server, os, signal, sys
command, options = sys.argv[1], dict(zip(sys.argv[2::2], sys.argv[3::2]))
if command == os.environ.get('BROKEN'):
    sys.exit('cannot listen')
if command == 'serve':
    assert options['--upstream'] == 'http://' + os.environ['SANDBOX'], options
    assert options['--data'] and options['--listen'] == os.environ['LISTEN'], options
    print('the gate is at', options['--listen'], flush=True)
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        known = self.path == ('/effects' if command == 'sandbox' else '/readyz')
        self.send_response(200 if known else 404)
        self.end_headers()
    def log_message(self, *words):
        pass
def end(*_):
    with open(os.environ['ENDS'], 'a') as file:
        file.write(command + chr(10))
    os._exit(0)
signal.signal(signal.SIGTERM, end)
host, port = options['--listen' if command == 'sandbox' else '--admin'].split(':')
http.server.HTTPServer((host, int(port)), Answer).serve_forever()
"""


def free_address():
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        return f'127.0.0.1:{unused.getsockname()[1]}'


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / 'counterfoil'
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.ends = self.folder / 'ends'
        self.scratch = self.folder / 'scratch'
        self.scratch.mkdir()

    def start(self, **environment):
        environment = {**os.environ, 'LISTEN': free_address(), 'ADMIN': free_address(),
                       'SANDBOX': free_address(), 'ENDS': str(self.ends),
                       'TMPDIR': str(self.scratch), **environment}
        run = subprocess.Popen([RUN, self.program], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, env=environment)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        return run

    def assert_nothing_is_left(self):
        self.assertEqual(list(self.scratch.iterdir()), [])

    def test_it_starts_both_explains_and_stops_the_gate_first(self):
        run = self.start()
        lines = []
        for line in run.stdout:
            lines.append(line)
            if 'Ctrl-C stops both' in line:
                break
        self.assertTrue(lines[0].startswith('the gate is at 127.0.0.1:'), lines)
        self.assertGreaterEqual(sum('curl ' in line for line in lines), 5)
        self.assertEqual(len(list(self.scratch.iterdir())), 1)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 0, run.stderr.read())
        self.assertEqual(self.ends.read_text().split(), ['serve', 'sandbox'])
        self.assert_nothing_is_left()

    def test_a_gate_that_does_not_start_is_said_and_the_api_stopped(self):
        run = self.start(BROKEN='serve')
        self.assertEqual(run.wait(timeout=30), 1)
        self.assertIn('the gate did not start:\ncannot listen\n', run.stderr.read())
        self.assertEqual(self.ends.read_text().split(), ['sandbox'])
        self.assert_nothing_is_left()

    def test_an_api_that_does_not_start_is_said(self):
        run = self.start(BROKEN='sandbox')
        self.assertEqual(run.wait(timeout=30), 1)
        self.assertIn('the practice API did not start:\ncannot listen\n', run.stderr.read())
        self.assert_nothing_is_left()

    def test_a_program_that_was_not_built(self):
        self.program.unlink()
        run = self.start()
        self.assertEqual(run.wait(timeout=30), 1)
        self.assertIn('make build', run.stderr.read())


if __name__ == '__main__':
    unittest.main()
