"""The guides for those who write agents and test them: commands run, and CI jobs are YAML that runs what there is."""
import re

import pytest
import yaml

from harness.gate import BINARY, ROOT
from harness.walk import walk


def test_the_commands(start_gate, sandbox, tmp_path, monkeypatch):
    # Shows that the commands of docs/guide/agents.md print what is shown, with one effect.
    gate = start_gate(sandbox)
    (tmp_path / 'counterfoil').symlink_to(BINARY.resolve())
    monkeypatch.setenv('COUNTERFOIL_JOURNAL', str(tmp_path / 'state' / 'journal.db'))
    guide = (ROOT / 'docs' / 'guide' / 'agents.md').read_text()
    assert walk(guide, lambda command: command.replace('127.0.0.1:8080', f'127.0.0.1:{gate.port}'), tmp_path) == 2
    assert sandbox.kinds()['tickets'] == 1


@pytest.mark.parametrize('name', ['github-actions.yml', 'gitlab-ci.yml'])
def test_the_jobs(name):
    # Shows that the ready jobs are valid YAML, and that every report they ask for is one that the drill has.
    text = (ROOT / 'examples' / 'ci' / name).read_text()
    job = yaml.safe_load(text)
    job = job.get('jobs', job)['drill']
    commands = job.get('script') or [step['run'] for step in job['steps'] if 'run' in step]
    [drill] = [command for command in commands if command.startswith('counterfoil drill ')]
    assert set(re.findall(r'--report (\w+)', drill)) <= {'table', 'tap', 'junit', 'json', 'html'}
    assert f'examples/ci/{name}' in (ROOT / 'docs' / 'guide' / 'testing.md').read_text()
