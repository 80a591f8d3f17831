"""The guide about issuers: its configurations are good ones."""
import re

import pytest

from harness.gate import ROOT, command

GUIDE = (ROOT / 'docs' / 'guide' / 'issuers.md').read_text()
BLOCKS = re.findall(r'```yaml\n(.*?)```', GUIDE, re.S)


@pytest.mark.parametrize('nth', range(len(BLOCKS)))
def test_a_configuration_of_the_guide(tmp_path, nth):
    # Shows that each configuration that the guide shows passes `config check`.
    file = tmp_path / 'gate.yaml'
    file.write_text('upstreams: {default: {url: http://127.0.0.1:9000}}\n' + BLOCKS[nth])
    done = command('config', 'check', file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_there_are_configurations():
    # Shows that the test above has something to look at.
    assert len(BLOCKS) == 3
