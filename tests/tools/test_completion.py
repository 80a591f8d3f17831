"""Shows that bash completes counterfoil's commands, sub-commands, options and files."""
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / 'packaging/completion/counterfoil.bash'
ASK = r'''
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_counterfoil
printf '%s\n' "${COMPREPLY[@]}"
'''


def complete(*words, cwd=None):
    """What is offered for the last of `words`."""
    done = subprocess.run(['bash', '-c', ASK, 'bash', SCRIPT, 'counterfoil', *words], cwd=cwd,
                          check=True, stdout=subprocess.PIPE, text=True, timeout=60)
    return done.stdout.split()


class Completion(unittest.TestCase):
    def test_a_call(self):
        self.assertEqual(complete('call', 't'), ['token'])
        self.assertIn('--honours-key', complete('call', 'POST', 'http://x/', '--'))
        self.assertEqual(complete('call', 'forget', '--f'), ['--force'])
        self.assertEqual(complete('call', 'POST', '--data', ''), [])

    def test_commands(self):
        self.assertEqual(complete(''), ['serve', 'sandbox', 'call', 'op', 'approve', 'deny', 'key', 'secret',
                                        'audit', 'vault', 'drill', 'config', 'help', '--version', '--help'])
        self.assertEqual(complete('s'), ['serve', 'sandbox', 'secret'])
        self.assertEqual(complete('--v'), ['--version'])

    def test_sub_commands_and_their_options(self):
        self.assertEqual(complete('op', ''), ['list', 'show', 'cancel', 'resolve', 'locks',
                                              'release'])
        self.assertEqual(complete('config', ''), ['check', 'example', 'schema', 'import-openapi'])
        self.assertEqual(complete('op', 'resolve', 'op_1', '--h'), ['--help', '--happened'])
        self.assertEqual(complete('help', ''), ['serve', 'sandbox', 'call', 'op', 'approve', 'deny', 'key', 'secret',
                                              'audit', 'vault', 'drill', 'config'])
        self.assertEqual(complete('op', 'release', 'op_1', '--w'), ['--why'])
        self.assertEqual(complete('op', 'list', '--r'), ['--reference'])
        self.assertEqual(complete('op', 'locks', '--h'), ['--help', '--held'])
        self.assertEqual(complete('help', 'op', 're'), ['resolve', 'release'])
        self.assertEqual(complete('help', 'config', 'i'), ['import-openapi'])
        self.assertEqual(complete('audit', ''), ['show', 'export', 'verify', 'prove', 'rotate', 'erase'])
        self.assertEqual(complete('secret', ''), ['set', 'list', 'rm'])
        self.assertEqual(complete('help', 'drill', ''), ['cases', 'init'])
        self.assertEqual(complete('drill', 'init', '--o'), ['--openapi', '--output'])
        self.assertEqual(complete('drill', '--c'), ['--case', '--config'])
        self.assertEqual(complete('secret', 'set', 'a', '--d'), ['--data'])
        self.assertEqual(complete('audit', 'verify', '--vkey', 'k', '--s'), ['--since', '--state'])
        self.assertEqual(complete('config', 'schema', ''), ['--help'])
        self.assertEqual(complete('help', 'serve', ''), [])

    def test_options_do_not_hide_the_command(self):
        self.assertEqual(complete('serve', '--up'), ['--upstream'])
        self.assertEqual(complete('op', '--data', 'd', 'sh'), ['show'])
        self.assertEqual(complete('serve', '--listen', '127.0.0.1', ':', '80', '--ad'), ['--admin'])

    def test_values(self):
        self.assertEqual(complete('op', 'list', '--state', 'u'), ['unknown'])
        self.assertEqual(complete('serve', '--store', ''), ['sqlite'])
        self.assertEqual(complete('op', 'resolve', '--why', ''), [])

    def test_files_and_folders(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / 'gate.yaml').touch()
            (pathlib.Path(folder) / 'gate.d').mkdir()
            self.assertEqual(sorted(complete('serve', '--config', 'ga', cwd=folder)),
                             ['gate.d', 'gate.yaml'])
            self.assertEqual(complete('serve', '--data', 'ga', cwd=folder), ['gate.d'])
            for command in ('check', 'import-openapi'):
                self.assertEqual(sorted(complete('config', command, 'ga', cwd=folder)),
                                 ['gate.d', 'gate.yaml'])


if __name__ == '__main__':
    unittest.main()
