"""Documents that show commands and what they print, against the program.

A block marked ```sh try is run, and the block ```text try after it must be what comes out. There
`…` in a line stands for anything, a line of its own for any lines; ids, times and sizes are
compared by their form. An id in a command is the one that was seen last.
"""
import os
import re
import subprocess

BLOCK = re.compile(r'^```(\w+) (try|config)\n(.*?)^```$', re.MULTILINE | re.DOTALL)
OPERATION = re.compile(r'op_[0-9A-HJKMNP-TV-Z]{26}')
TIME = re.compile(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z')


def blocks(document, kind):
    """(language, text) of each block of a kind, in order."""
    return [(language, text) for language, its_kind, text in BLOCK.findall(document) if its_kind == kind]


def expected_pattern(text):
    """A shown output as a regular expression over the real one."""
    lines = []
    for line in text.splitlines():
        if line == '…':
            lines.append(r'(?:[^\n]*\n)*?')
            continue
        pattern = '[^\n]*'.join(re.escape(part) for part in line.split('…'))
        pattern = OPERATION.sub(lambda _: OPERATION.pattern, pattern)
        pattern = re.sub(TIME.pattern.replace('-', r'\\-').replace(r'\.', r'\\\.'),
                         lambda _: TIME.pattern, pattern)
        lines.append(re.sub(r'(?:\\ )+', ' +', pattern) + r' *\n')
    return re.compile(''.join(lines) + r'\n*')


def shell(command, folder=None):
    """What a command prints. Programs in `folder` are found by their names, and it is run there."""
    path = {'PATH': f'{folder}:{os.environ["PATH"]}'} if folder else {}
    done = subprocess.run(['bash', '-c', command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=30, cwd=folder, env={**os.environ, **path})
    assert done.returncode == 0, (command, done.stderr)
    return done.stdout.replace('\r\n', '\n') + '\n'


def walk(document, localised, folder=None):
    """Run every command of a document; the number of them. `localised` makes one fit this run."""
    steps = blocks(document, 'try')
    commands, outputs = steps[0::2], steps[1::2]
    assert len(commands) == len(outputs)
    seen = None
    for (language, command), (shown_language, shown) in zip(commands, outputs):
        assert (language, shown_language) == ('sh', 'text')
        if OPERATION.search(command):
            assert seen, 'an id is used before one was seen'
            command = OPERATION.sub(seen, command)
        printed = shell(localised(command), folder)
        assert expected_pattern(shown).fullmatch(printed), f'{command}\nprints\n{printed}\nnot\n{shown}'
        found = OPERATION.search(printed)
        seen = found[0] if found else seen
    return len(commands)
