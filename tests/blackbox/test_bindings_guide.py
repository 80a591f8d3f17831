"""The guide of the bindings: its examples run, in both languages, and print what it says."""
import os
import subprocess
import sys

from harness.gate import ROOT
from harness.walk import blocks, expected_pattern


def test_the_examples(start_gate, sandbox, tmp_path):
    # Shows that every example of docs/guide/bindings.md works from an installed package and prints what is shown.
    gate = start_gate(sandbox)
    (tmp_path / 'node_modules').mkdir()
    (tmp_path / 'node_modules' / 'counterfoil').symlink_to(ROOT / 'bindings' / 'npm')
    steps = blocks((ROOT / 'docs' / 'guide' / 'bindings.md').read_text(), 'try')
    examples, outputs = steps[0::2], steps[1::2]
    assert {language for language, _ in examples} == {'python', 'javascript'} and len(examples) == len(outputs) == 4
    for (language, code), (_, shown) in zip(examples, outputs):
        program = tmp_path / ('example.py' if language == 'python' else 'example.mjs')
        program.write_text(code.replace('127.0.0.1:8080', f'127.0.0.1:{gate.port}'))
        done = subprocess.run([sys.executable if language == 'python' else 'node', str(program)], capture_output=True,
                              text=True, timeout=60, env={
                                  **os.environ, 'PYTHONPATH': str(ROOT / 'bindings' / 'python'),
                                  'COUNTERFOIL_JOURNAL': str(tmp_path / 'state' / 'journal.db')})
        assert (done.returncode, done.stderr) == (0, ''), (code, done.stderr)
        assert expected_pattern(shown).fullmatch(done.stdout), (code, done.stdout)
    assert sandbox.kinds()['tickets'] == 1
