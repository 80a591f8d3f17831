"""The walk-throughs of docs/guide and the examples behind them: what they show is what happens."""
import re

import pytest

from harness.gate import BINARY, ROOT, command
from harness.walk import blocks, walk

GUIDES = {'tickets': 7, 'payments': 14, 'deployments': 12, 'recovery': 18, 'audit': 5, 'callers': 8,
          'credentials': 5, 'approvals': 6}


def guide(name):
    return (ROOT / 'docs' / 'guide' / f'{name}.md').read_text()


@pytest.mark.parametrize('name', GUIDES)
def test_the_example_is_a_good_one(name):
    # Shows that the example passes `config check`.
    done = command('config', 'check', ROOT / 'examples' / f'{name}.yaml')
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize('name', GUIDES)
def test_the_walk_through(start_gate, sandbox, tmp_path, name):
    # Shows that every command of the guide works with the example, and prints what the guide says.
    folder = tmp_path / 'at-work'
    folder.mkdir()
    (folder / 'counterfoil').symlink_to(BINARY)
    example = (ROOT / 'examples' / f'{name}.yaml').read_text()
    assert '127.0.0.1:9000' in example
    gate = start_gate(None, example.replace('127.0.0.1:9000', f'127.0.0.1:{sandbox.port}'),
                      data=folder / 'counterfoil-data')

    def localised(text):
        return text.replace('127.0.0.1:8080', f'127.0.0.1:{gate.port}') \
            .replace('127.0.0.1:8081', f'127.0.0.1:{gate.admin_port}') \
            .replace('127.0.0.1:9000', f'127.0.0.1:{sandbox.port}')
    assert walk(guide(name), localised, folder) >= GUIDES[name]


@pytest.mark.parametrize('name', GUIDES)
def test_what_a_guide_leads_to(name):
    # Shows that the links of a guide lead to files, its example among them, and that every block that
    # shows an output is one that is tried.
    targets = re.findall(r'\]\(([^)#:]+)\)', guide(name))
    assert f'../../examples/{name}.yaml' in targets
    assert all((ROOT / 'docs' / 'guide' / target).exists() for target in targets)
    assert guide(name).count('```text') == len([b for b in blocks(guide(name), 'try') if b[0] == 'text'])
