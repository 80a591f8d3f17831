"""Shows that tools/run starts the practice API and the gate, and leaves nothing behind.

The program is a stand-in that keeps to the words of the command line: `sandbox` answers
/effects, `serve` answers /readyz on its admin address. Both say where they are, and write down
their ends.
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
name = 'the gate' if command == 'serve' else 'the API'
print(name, 'is at', options['--listen'], flush=True)
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


def heed_interrupts():
    """As in a terminal: bash cannot trap a signal that is ignored when it starts (nohup, `&`)."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.program = self.folder / 'counterfoil'
        self.program.write_text(STAND_IN)
        self.program.chmod(0o755)
        self.ends = self.folder / 'ends'
        self.scratch = self.folder / 'run'

    def start(self, **environment):
        environment = {**os.environ, 'LISTEN': free_address(), 'ADMIN': free_address(),
                       'SANDBOX': free_address(), 'ENDS': str(self.ends), **environment}
        run = subprocess.Popen([RUN, self.program], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.PIPE, env=environment,
                               preexec_fn=heed_interrupts)
        self.addCleanup(run.stderr.close)
        self.addCleanup(run.stdout.close)
        self.addCleanup(run.kill)
        return run

    def assert_nothing_is_left(self):
        self.assertFalse(self.scratch.exists())

    def lines_until_ready(self, run):
        lines = []
        for line in run.stdout:
            lines.append(line)
            if 'Ctrl-C stops both' in line:
                break
        return lines

    def test_it_starts_both_explains_and_stops_the_gate_first(self):
        run = self.start()
        lines = self.lines_until_ready(run)
        self.assertTrue(lines[0].startswith('the gate is at 127.0.0.1:'), lines)
        self.assertGreaterEqual(sum('curl ' in line for line in lines), 4)
        self.assertTrue(self.scratch.is_dir())
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

    def test_what_a_killed_run_left_is_replaced(self):
        (self.scratch / 'data').mkdir(parents=True)
        (self.scratch / 'data' / 'old').touch()
        (self.scratch / 'lock').touch()
        run = self.start()
        self.lines_until_ready(run)
        self.assertFalse((self.scratch / 'data').exists())
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=30), 0, run.stderr.read())
        self.assert_nothing_is_left()

    def test_a_folder_of_somebody_else_is_left_alone(self):
        (self.scratch / 'data').mkdir(parents=True)
        run = self.start()
        self.assertEqual(run.wait(timeout=30), 1)
        self.assertIn('is not of an earlier run', run.stderr.read())
        self.assertTrue((self.scratch / 'data').is_dir())

    def test_a_second_run_leaves_the_first_alone(self):
        first = self.start()
        self.lines_until_ready(first)
        second = self.start()
        self.assertEqual(second.wait(timeout=30), 1)
        self.assertIn('has not ended', second.stderr.read())
        self.assertIsNone(first.poll())
        self.assertTrue(self.scratch.is_dir())
        first.send_signal(signal.SIGINT)
        self.assertEqual(first.wait(timeout=30), 0)
        self.assert_nothing_is_left()

    def test_a_program_that_was_not_built(self):
        self.program.unlink()
        run = self.start()
        self.assertEqual(run.wait(timeout=30), 1)
        self.assertIn('make build', run.stderr.read())


if __name__ == '__main__':
    unittest.main()
