"""Shows that the released program is hardened, and that this test would notice if it were not.

    test_hardening.py PROGRAM

PIE, so that its addresses are random; full RELRO, so that its jump tables are read-only; a
stack that is not executable; functions that check their stack and their copies.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

PROGRAM = sys.argv.pop(1)


def readelf(*arguments):
    return subprocess.run(['readelf', '--wide', *arguments], check=True, timeout=60,
                          stdout=subprocess.PIPE, text=True,
                          env={**os.environ, 'LC_ALL': 'C'}).stdout


def weaknesses(program):
    header, segments = readelf('--file-header', program), readelf('--segments', program)
    dynamic, symbols = readelf('--dynamic', program), readelf('--dyn-syms', program)
    holds = {
        'PIE': re.search(r'Type:\s+DYN', header) and re.search(r'FLAGS_1.*\bPIE\b', dynamic),
        'RELRO': 'GNU_RELRO' in segments,
        'NOW': re.search(r'FLAGS.*\bBIND_NOW\b|FLAGS_1.*\bNOW\b', dynamic),
        'NX': re.search(r'GNU_STACK(?:\s+0x[0-9a-f]+){5}\s+RW\s', segments),
        'no RWX': not re.search(r'LOAD.*\sRWE\s', segments),
        'stack protector': '__stack_chk_fail' in symbols,
        'fortified copies': re.search(r'__\w+_chk\b', symbols),
        'no RPATH': not re.search(r'\((RPATH|RUNPATH)\)', dynamic),
    }
    return [name for name, held in holds.items() if not held]


class Hardening(unittest.TestCase):
    def test_the_program_has_no_weakness(self):
        self.assertEqual(weaknesses(PROGRAM), [])

    def test_a_weak_program_is_seen_through(self):
        with tempfile.TemporaryDirectory() as folder:
            source, program = pathlib.Path(folder) / 'weak.c', pathlib.Path(folder) / 'weak'
            source.write_text('int main(void)\n{\n\treturn 0;\n}\n')
            subprocess.run(['cc', '-no-pie', '-fno-stack-protector', '-Wl,-z,norelro',
                            '-Wl,-z,lazy', '-Wl,-z,execstack', '-Wl,-rpath,/tmp', '-o', program,
                            source], check=True, timeout=60, stderr=subprocess.DEVNULL)
            self.assertEqual(weaknesses(program),
                             ['PIE', 'RELRO', 'NOW', 'NX', 'stack protector',
                              'fortified copies', 'no RPATH'])


if __name__ == '__main__':
    unittest.main()
