"""The description of the admin API at /api/openapi.json, held against what is served."""
import re

from harness.client import assert_problem

REFERENCE = re.compile(r'^#/components/(\w+)/(\w+)$')


def described(gate):
    response = gate.operator('/api/openapi.json')
    assert response.status == 200 and response.one('Content-Type') == 'application/json'
    return response.json()


def walk(value):
    """Every mapping inside a document."""
    if isinstance(value, dict):
        yield value
        for item in value.values():
            yield from walk(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk(item)


def test_every_endpoint_is_described_and_no_other(gate):
    # Shows that document and table of endpoints say the same: methods, paths, powers, what is open.
    document = described(gate)
    told = {(method.upper(), path): (operation.get('x-power'), operation['security'] == [])
            for path, item in document['paths'].items() for method, operation in item.items()}
    rows = gate.operator('/api/endpoints').json()['endpoints']
    assert told == {(row['method'], row['path']): (row['power'], row['power'] is None) for row in rows}


def test_the_description_is_whole(gate):
    # Shows the structure that OpenAPI 3.1 asks for: version, info, unique ids, parameters of each path,
    # answers, and references that lead somewhere.
    document = described(gate)
    assert document['openapi'].startswith('3.1.') and document['info']['title'] and document['info']['version']
    ids = []
    for path, item in document['paths'].items():
        for operation in item.values():
            ids.append(operation['operationId'])
            assert operation['summary'] and operation['responses']
            assert all(answer.get('$ref') or answer['description'] for answer in operation['responses'].values())
            wanted = {p['name'] for p in operation.get('parameters', []) if p['in'] == 'path' and p['required']}
            assert wanted == set(re.findall(r'\{(\w+)\}', path)), path
    assert len(ids) == len(set(ids))
    for found in walk(document):
        if '$ref' in found:
            kind, name = REFERENCE.match(found['$ref']).groups()
            assert name in document['components'][kind], found
    schemes = document['components']['securitySchemes']
    assert {name for found in walk(document['paths']) for s in found.get('security', []) for name in s} <= set(schemes)


def test_answers_have_the_members_that_are_promised(gate, path, token):
    # Shows that what is required of a schema is in the answers.
    document = described(gate)
    gate.post(path, token)
    schemas = document['components']['schemas']
    listed = gate.operator('/api/operations').json()['operations'][0]
    assert set(schemas['Operation']['required']) <= set(listed)
    assert set(schemas['Operation']['properties']) - {'attempts'} <= set(listed)
    problem = gate.operator('/api/nothing').json()
    assert set(schemas['Problem']['required']) <= set(problem)


def orders(gate):
    """Each (method, path, schema of its body) that the description has."""
    for path, methods in described(gate)['paths'].items():
        for method, said in methods.items():
            for content in said.get('requestBody', {}).get('content', {}).values():
                yield method.upper(), path, content['schema']


def test_nothing_of_a_body_is_passed_over(gate, path, token):
    # Shows that a member which is not known, or is no text where one is wanted, is refused: it might have
    # been meant to limit what is done.
    made = gate.post(path, token)
    for method, target, schema in orders(gate):
        target = target.replace('{operation}', made.operation).replace('{key}', 'key_1').replace('{name}', 'pay')
        assert schema['additionalProperties'] is False and schema['properties'], target
        texts = [n for n, kind in schema['properties'].items() if kind.get('type') == 'string']
        assert texts, target
        for body in [{'unheard_of': 1}, *({n: v} for n in texts for v in (None, 7, ['a'], {'a': 'b'}))]:
            response = gate.operator(target, method, json=body)
            assert_problem(response, 400, 'body-malformed', operation=False)
            assert response.json()['detail'].startswith(f'"{[*body][0]}" is '), (target, response.json())
    before = len(gate.operator('/api/keys').json()['keys'])
    for more in ({'expires': '1h'}, {'action': ['tickets.*']}, {'expires_in': None}):
        wish = {'account': 'acme', 'agent': 'bot', **more}
        assert_problem(gate.operator('/api/keys', 'POST', json=wish), 400, 'body-malformed', operation=False)
    assert len(gate.operator('/api/keys').json()['keys']) == before
