"""Shows that tools/setup installs what is missing, says why, and otherwise keeps silent.

The package tools are stand-ins that write down how they were called: nothing is installed.
"""
import os
import pathlib
import subprocess
import tempfile
import unittest

SETUP = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'setup'
ALL_BUT = """#!/bin/bash
for package; do
    [[ $package = -* || $package = *' '* || " $ABSENT " = *" $package "* ]] && continue
    echo "installed $package"
done
"""
WRITE_DOWN = """#!/bin/bash
echo "$(basename "$0") $* policy=$([ -x "$SETUP_POLICY_RC_D" ] && echo quiet)" >> "$CALLS"
[[ " $* " != *" ${REFUSED:-none} "* ]]
"""


class Setup(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.calls = self.folder / 'calls'
        self.policy = self.folder / 'policy-rc.d'
        self.stand_in('dpkg-query', ALL_BUT)
        self.stand_in('apt-get', WRITE_DOWN)
        self.stand_in('id', '#!/bin/sh\necho ${USER_ID:-0}\n')
        for tool in ('bash', 'sh', 'awk', 'sed', 'sort', 'cat', 'env', 'rm', 'tee', 'chmod',
                     'basename'):
            (self.folder / tool).symlink_to(f'/usr/bin/{tool}')

    def stand_in(self, name, text):
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o755)

    def setup(self, *groups, **environment):
        environment = {'PATH': str(self.folder), 'CALLS': str(self.calls), 'ABSENT': '',
                       'SETUP_POLICY_RC_D': str(self.policy), **environment}
        return subprocess.run(['/bin/bash', SETUP, *groups], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, env=environment, timeout=60)

    def called(self):
        return self.calls.read_text().splitlines() if self.calls.exists() else []

    def test_nothing_missing_is_silent(self):
        done = self.setup('build', 'run', 'test', 'check', 'bench')
        self.assertEqual((done.stdout, done.stderr, done.returncode), ('', '', 0))
        self.assertEqual(self.called(), [])

    def test_only_the_missing_are_installed_after_an_update(self):
        done = self.setup('build', 'test', 'bench', ABSENT='libuv1-dev nginx-light valgrind')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertRegex(done.stderr, r'libuv1-dev +event loops')
        self.assertNotIn('valgrind', done.stderr)
        update, install = self.called()
        self.assertIn(' update ', update)
        self.assertIn('--no-install-recommends libuv1-dev nginx-light policy=quiet', install)

    def test_services_are_allowed_again_afterwards(self):
        self.setup('test', ABSENT='nginx-light')
        self.assertEqual(len(self.called()), 2)
        self.assertFalse(self.policy.exists())

    def test_a_policy_of_the_machine_is_left_alone(self):
        self.policy.write_text('#!/bin/sh\nexit 0\n')
        self.setup('test', ABSENT='nginx-light')
        self.assertEqual(self.policy.read_text(), '#!/bin/sh\nexit 0\n')

    def test_without_root_sudo_is_asked(self):
        self.stand_in('sudo', '#!/bin/bash\necho sudo >> "$CALLS"\n"$@"\n')
        done = self.setup('build', ABSENT='meson', USER_ID='1000')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('sudo', self.called())

    def test_without_root_and_sudo_it_says_what_to_do(self):
        done = self.setup('build', ABSENT='meson git', USER_ID='1000')
        self.assertEqual(done.returncode, 1)
        self.assertIn('apt-get install --no-install-recommends meson git', done.stderr)
        self.assertEqual(self.called(), [])

    def test_an_install_that_fails_is_a_failure(self):
        done = self.setup('build', ABSENT='meson', REFUSED='meson')
        self.assertEqual(done.returncode, 1)
        self.assertIn('could not install', done.stderr)

    def test_lists_that_cannot_be_renewed_stop_nothing(self):
        done = self.setup('build', ABSENT='meson', REFUSED='update')
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(self.called()), 2)

    def test_another_system_is_told_what_is_needed(self):
        os.remove(self.folder / 'dpkg-query')
        done = self.setup('build')
        self.assertEqual(done.returncode, 0)
        self.assertIn('  libsqlite3-dev\n', done.stderr)

    def test_an_unknown_group_is_a_mistake(self):
        self.assertEqual(self.setup('everything').returncode, 2)


if __name__ == '__main__':
    unittest.main()
