"""The guides of callers and testers: their commands run, and their links lead somewhere."""
import re

import pytest

from harness.gate import BINARY, ROOT
from harness.walk import blocks, walk

GUIDES = ROOT / 'docs' / 'guide'


def test_the_walk_through(start_gate, sandbox, tmp_path, monkeypatch):
    # Shows that each command of docs/guide/call.md prints what is shown.
    monkeypatch.setenv('COUNTERFOIL_JOURNAL', str(tmp_path / 'state' / 'journal.db'))
    (tmp_path / 'counterfoil').symlink_to(BINARY)
    gate = start_gate(sandbox)

    def localised(text):
        return text.replace('127.0.0.1:8080', f'127.0.0.1:{gate.port}')
    document = localised((GUIDES / 'call.md').read_text())
    assert walk(document, localised, tmp_path) == 5
    assert sandbox.kinds()['tickets'] == 2


@pytest.mark.parametrize('name', ['call', 'agents', 'api-owners', 'testing', 'bindings', 'drill', 'rehearsal'])
def test_links(name):
    # Shows that every link of the guide leads to a file.
    text = (GUIDES / f'{name}.md').read_text()
    targets = re.findall(r'\]\(([^)#:]+)\)', text)
    assert [target for target in targets if not (GUIDES / target).exists()] == []
