"""Shows that tools/tidy finds each breach it promises to find, where it is, and nothing else."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

TIDY = pathlib.Path(__file__).resolve().parents[2] / 'tools' / 'tidy'
GOOD = '/* What it is for. */\n#include "base/str.h"\n\nint one(void)\n{\n\treturn 1;\n}\n'
OPEN_POINT = 'TO' 'DO'


class Tidy(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.write('src/meson.build', "subdir('base')\nsubdir('json')\nsubdir('cli')\n")
        self.write('src/base/good.c', GOOD)

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def tidy(self):
        return subprocess.run([sys.executable, TIDY, self.root], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=60)

    def assert_clean(self):
        done = self.tidy()
        self.assertEqual((done.stdout, done.stderr, done.returncode), ('', '', 0))

    def assert_finds(self, *expected):
        done = self.tidy()
        lines = done.stdout.splitlines()
        self.assertEqual(len(lines), len(expected), done.stdout)
        for line, start in zip(lines, expected):
            self.assertTrue(line.startswith(start), f'{line!r} is not {start!r}…')
        self.assertEqual(done.returncode, 1)

    def test_a_good_tree_is_silent(self):
        self.assert_clean()

    def test_a_folder_may_use_itself_and_those_above(self):
        self.write('src/json/read.c', GOOD + '#include "json/json.h"\n#include <stdio.h>\n'
                                             '#include "commit.h"\n')
        self.assert_clean()

    def test_a_folder_may_not_use_those_below(self):
        self.write('src/base/bad.c', GOOD + '#include "json/json.h"\n')
        self.write('src/json/bad.h', '#  include "cli/cli.h"\n')
        self.assert_finds('src/base/bad.c:8: "json/json.h": base may not use json',
                          'src/json/bad.h:1: "cli/cli.h": json may not use cli')

    def test_headers_are_named_with_their_folder(self):
        self.write('src/json/bad.c', GOOD + '#include "json.h"\n#include "nowhere/x.h"\n')
        self.assert_finds('src/json/bad.c:8: "json.h": name the folder too, "json/json.h"',
                          'src/json/bad.c:9: "nowhere/x.h": no folder of src/')

    def test_a_commented_include_does_not_count(self):
        self.write('src/base/quiet.c', GOOD + '/*\n#include "cli/cli.h"\n*/\n')
        self.assert_clean()

    def test_a_folder_nobody_listed(self):
        self.write('src/extra/x.c', GOOD)
        self.assert_finds('src/extra/x.c:1: folder extra is missing in src/meson.build')

    def test_functions_have_seventy_lines_at_most(self):
        body = '/* Long. */\nint long_one(int a,\n\t     int b)\n{\n' + '\ta = b;\n' * 68 + '}\n'
        self.write('src/base/fits.c', body)
        self.assert_clean()
        self.write('src/base/long.c', body.replace('\ta = b;\n', '\ta = b;\n\ta = a;\n', 1))
        self.assert_finds('src/base/long.c:4: long_one() has 71 lines; at most 70')

    def test_braces_in_literals_and_comments_end_no_function(self):
        filler = '\ta("}");\n/*\n}\n*/\n'
        self.write('src/base/odd.c', '/* Odd. */\nint odd(void)\n{\n' + filler * 20 + '}\n')
        self.assert_finds('src/base/odd.c:3: odd() has 82 lines')

    def test_lines_have_a_hundred_columns_with_tabs_of_eight(self):
        self.write('src/base/wide.c', GOOD + '\t' + '/' * 92 + '\n\t' + '/' * 93 + '\n')
        self.assert_finds('src/base/wide.c:9: 101 columns; at most 100')

    def test_files_have_eight_hundred_lines_at_most(self):
        self.write('src/base/full.c', GOOD + '\n' * 793)
        self.assert_clean()
        self.write('src/base/over.c', GOOD + '\n' * 794)
        self.assert_finds('src/base/over.c:801: 801 lines; at most 800')

    def test_every_c_file_opens_with_an_essay(self):
        self.write('src/json/mute.c', '#include <stdio.h>\n/* Too late. */\n')
        self.assert_finds('src/json/mute.c:1: begins without a comment')

    def test_open_points_lead_somewhere(self):
        self.write('src/base/open.c', GOOD + f'/* {OPEN_POINT}(#12): fine */\n'
                                             f'/* {OPEN_POINT} #12 too */\n/* {OPEN_POINT}: no */\n')
        self.write('tools/open.py', f'# {OPEN_POINT} some day\n')
        self.assert_finds('src/base/open.c:10: ' + OPEN_POINT, 'tools/open.py:1: ' + OPEN_POINT)

    def test_banned_functions_are_calls_only(self):
        self.write('tests/unit/calls.c', 'x = atoi (s);\nstrtok_r(a, b, c);\nlog_gets(a);\n'
                                         '/* strcpy(a, b) */ puts("sprintf(");\nstrcat(a, b);\n'
                                         'table->gets(a);\n')
        self.assert_finds('tests/unit/calls.c:1: atoi() is banned: use str_to_u64()',
                          'tests/unit/calls.c:5: strcat() is banned')

    def test_white_space_at_the_end(self):
        self.write('src/base/space.h', '#define A \nint a;')
        self.write('Makefile', 'all:\n\ttrue\t\n')
        self.assert_finds('Makefile:2: white space', 'src/base/space.h:1: white space',
                          'src/base/space.h:2: no line break')

    def test_corpora_and_caches_are_not_read(self):
        self.write('tests/fuzz/corpus/json/a.c', 'x = atoi(s); ')
        self.write('tests/__pycache__/b.py', ' ')
        self.write('build/generated.c', 'gets(s); ')
        self.assert_clean()


if __name__ == '__main__':
    unittest.main()
