"""`drill init`: what it writes is a scenario, and runs."""
import json

import pytest

from harness.gate import ROOT, command

URL = 'http://127.0.0.1:8080'


def init(folder, *options, stdin=None):
    return command('drill', 'init', *options, cwd=folder, stdin=stdin)


def drill(folder, text, *options):
    file = folder / 'scenario.yaml'
    file.write_text(text)
    done = command('drill', file, '--json', *options, cwd=folder, seconds=120)
    assert done.stdout, done.stderr
    return done.returncode, {case['name']: case['verdict']
                             for case in json.loads(done.stdout)['scenarios'][0]['cases']}


def test_it_runs_green(start_gate, sandbox, tmp_path):
    # Shows that the scenario of a plain `drill init` is accepted, and passes at a gate.
    gate = start_gate(None, {'upstreams': {'default': {'url': sandbox.url}}})
    done = init(tmp_path, f'http://127.0.0.1:{gate.port}', '--yes')
    assert done.returncode == 0, done.stderr
    status, cases = drill(tmp_path, done.stdout)
    assert status == 0, cases
    assert cases['replay'] == cases['copies'] == cases['answer-dropped'] == 'pass'


def test_every_question_is_an_option(start_gate, sandbox, tmp_path):
    # Shows that a script can say all of it.
    gate = start_gate(None, {'upstreams': {'default': {'url': sandbox.url}}})
    done = init(tmp_path, f'http://127.0.0.1:{gate.port}', '--write', 'POST /v1/payments', '--body',
                '{"amount": 5, "currency": "EUR", "invoice_id": "{marker}"}', '--id', '/id',
                '--count-get', '/v1/payments?invoice_id={marker}', '--count', '/data',
                '--output', 'made.yaml')
    assert done.returncode == 0 and done.stdout == '', done.stderr
    status, cases = drill(tmp_path, (tmp_path / 'made.yaml').read_text(), '--case', 'replay',
                          '--case', 'changed-body')
    assert status == 0, cases


def test_a_file_is_not_written_over(tmp_path):
    # Shows that a scenario that is there stays.
    (tmp_path / 'made.yaml').write_text('mine')
    assert init(tmp_path, URL, '--yes', '--output', 'made.yaml').returncode == 1
    assert (tmp_path / 'made.yaml').read_text() == 'mine'


def test_from_openapi(start_gate, sandbox, tmp_path):
    # Shows that each POST of a description becomes a scenario, and that one runs.
    (tmp_path / 'api.yaml').write_text('''
openapi: 3.0.3
info: {title: t, version: "1"}
paths:
  /v1/tickets:
    get: {operationId: list, responses: {"200": {description: ok}}}
    post:
      operationId: createTicket
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [project, title]
              properties:
                project: {type: string, enum: [drill]}
                title: {type: string, maxLength: 100}
      responses: {"201": {description: ok}}
  /v1/payments:
    post: {operationId: pay, responses: {"201": {description: ok}}}
''')
    gate = start_gate(None, {'upstreams': {'default': {'url': sandbox.url}}})
    both = init(tmp_path, URL, '--openapi', 'api.yaml')
    assert both.returncode == 0, both.stderr
    assert both.stdout.count('\n---\n') == 1
    one = init(tmp_path, f'http://127.0.0.1:{gate.port}', '--openapi', 'api.yaml', '--write',
               'POST /v1/tickets')
    assert '---' not in one.stdout
    status, cases = drill(tmp_path, one.stdout, '--case', 'replay', '--case', 'copies')
    assert status == 0 and set(cases.values()) == {'pass'}, (cases, one.stdout)


@pytest.mark.parametrize('line', [
    ['ftp://x', '--yes'], [URL, '--body', '{'], [URL, '--id', 'id'], [URL, '--write', 'POST'],
    [URL, '--openapi', 'none.yaml'], []], ids=str)
def test_what_is_wrong_is_said(tmp_path, line):
    # Shows that no scenario comes out of a wrong answer.
    done = init(tmp_path, *line)
    assert done.returncode == 2
    assert done.stdout == ''
    assert done.stderr


def test_the_comments_are_true(tmp_path):
    # Shows that what the comments offer is accepted once it is uncommented.
    text = init(tmp_path, URL, '--yes').stdout
    for key in ['resource', 'second_account', 'other_write', 'server', 'expiry', 'change', 'copies',
                'timeout', 'settle']:
        assert f'# {key}: ' in text
        text = text.replace(f'# {key}: ', f'{key}: ')
    file = tmp_path / 'all.yaml'
    file.write_text(text.replace(' ./server,', ' ./none,').replace('20s}', '100ms}'))
    done = command('drill', file, '--case', 'replay', cwd=tmp_path)
    assert done.returncode == 3, done.stderr
    assert ROOT.is_dir()
