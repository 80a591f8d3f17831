"""The description of the admin API at /api/openapi.json, held against what is served."""
import re

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
