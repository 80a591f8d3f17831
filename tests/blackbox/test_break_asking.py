"""What people have to agree to is asked, however the request is written: nothing slips through.

An agent that would rather not ask has the choice of words: it may write its path, its method, its
fields and their values in each way that some service takes for the same. Effects are counted where
they would happen.
"""
import pytest

from harness.rules import ruled, text

PLACE = {'when': [{'field': 'place', 'is': 'production'}]}
ANY = {'place': {'type': 'any'}}
EUR = {'amount': {'type': 'money', 'currency': 'EUR'}}


def action(name, fields, approval, **more):
    return {'route': f'POST /v1/{name}', 'fields': fields, 'approval': approval, **more}


ACTIONS = {
    'always.make': action('always', {'n': {'type': 'integer'}}, {'when': 'always'}),
    'below.make': action('below/{name}/part', {}, {'when': 'always'}),
    'beside.make': {'route': 'POST /v1/below/{name}'},
    'any.make': action('any', ANY, PLACE),
    'list.make': action('list', ANY, {'when': [{'field': 'place', 'in': [7, 9]}]}),
    'text.make': action('text', {'place': text(), 'n': {'type': 'integer'}}, PLACE),
    'kept.make': action('kept', {'place': text(), 'within': {'type': 'object', 'fields': {'place': text()}, 'unknown_fields': 'keep'}},
                        {'when': [*PLACE['when'], {'field': '/within/place', 'is': 'production'}]}, unknown_fields='keep'),
    'over.make': action('over', EUR, {'when': [{'field': 'amount', 'over': 100}]}, unknown_fields='keep'),
    'route.make': action('route/{place}', {}, PLACE),
    'whole.make': action('whole/{place}', {}, {'when': [{'field': 'place', 'matches': '^[Pp]roduction$'}]}),
    'words.make': action('words', {'place': text(), 'note': text()},
                         {'when': [{'field': 'place', 'matches': '^(production|live)$'}]}),
}


@pytest.fixture(scope='module')
def config_of_file(upstream):
    return ruled(upstream, ACTIONS)


def asks_or_refuses(gate, upstream, token, account, target, value, method='POST'):
    before = len(upstream.seen())
    response = gate.request(method, target, token=token, account=account, json=value)
    assert response.status in (202, 400, 422) and len(upstream.seen()) == before, (target, value, response)


@pytest.mark.parametrize('target', ['always/', '/always', 'Always', 'always;a=b', ';x/always', 'always%2F', 'always%20', 'always.',
                                    'always.json', 'below/x/part/', 'below/x/Part', 'below/x//part', 'below/x%2Fpart'])
def test_another_path(gate, upstream, token, account, target):
    # Shows that no path which a service may take for an action's goes past what that action asks.
    asks_or_refuses(gate, upstream, token, account, '/v1/' + target, {})


@pytest.mark.parametrize('method', ['post', 'Post', 'pOST'])
def test_another_method(gate, upstream, token, account, method):
    # Shows the same of the method's case.
    asks_or_refuses(gate, upstream, token, account, '/v1/always', {'n': 1}, method)


@pytest.mark.parametrize('name, value', [
    ('any', {'place': ['production']}), ('any', {'place': {'name': 'production'}}), ('any', {'place': True}),
    ('list', {'place': '7'}), ('list', {'place': 'true'}), ('list', {'place': 7.0}), ('list', {'place': [7]}),
    *[('text', {'place': place}) for place in ('Production', 'PRODUCTION', ' production', 'production\n', 'production\0',
                                               'ｐｒｏｄｕｃｔｉｏｎ', 'prodUCTİON'.replace('İ', 'i'))],
    ('over', {'amount': '00101'}), ('over', {'amount': 1.01e2}), ('over', {'amount': '101'}), ('over', {'amount': '1e3'}),
    ('over', {'amount': -1}), ('over', {'amount': '-100000'}),
])
def test_another_value(gate, upstream, token, account, name, value):
    # Shows that a value which a service may take for the one that is named is asked about.
    asks_or_refuses(gate, upstream, token, account, '/v1/' + name, value)


@pytest.mark.parametrize('name, value', [
    ('kept', {'Place': 'production'}), ('kept', {'place': 'x', 'PLACE': 'production'}), ('kept', {'place': 'x', ' place': 'production'}),
    ('kept', {'place': 'x', 'ｐlace': 'production'}), ('kept', {'within': {'place': 'x', 'Place': 'production'}}),
    ('over', {'amount': 1, 'Amount': 1000}),
])
def test_a_field_under_another_name(gate, upstream, token, account, name, value):
    # Shows that a second spelling of a declared field is refused also where unknown ones are kept.
    before = len(upstream.seen())
    response = gate.post('/v1/' + name, token, account=account, json=value)
    assert response.status == 422 and len(upstream.seen()) == before, response


@pytest.mark.parametrize('query', ['place=production', 'Place=production', 'pl%61ce=production', 'place[]=production', 'place%5B0%5D=production',
                                   'a=1&place.x=production', 'a=1;place=production', 'place'])
def test_a_field_in_the_query(gate, upstream, token, account, query):
    # Shows that a field is said in the body alone: some services look for it in the query as well.
    before = len(upstream.seen())
    for number, value in enumerate([{'n': 1}, {'place': 'staging'}]):
        response = gate.post('/v1/text?' + query, f'{token}-{number}', account=account, json=value)
        assert response.status == 400 and len(upstream.seen()) == before, response


@pytest.mark.parametrize('place', ['Production', 'prod%75ction', 'production;x', 'production.json', 'production%20'])
def test_a_parameter_of_the_route(gate, upstream, token, account, place):
    # Shows that what a router cuts off a parameter hides nothing of it.
    asks_or_refuses(gate, upstream, token, account, '/v1/route/' + place, {})


@pytest.mark.parametrize('place', ['Production', 'production;x', 'production.json', 'production?a=b'])
def test_a_parameter_that_is_matched(gate, upstream, token, account, place):
    # Shows the same where a pattern stands for all of the parameter, and that nothing behind it is matched.
    asks_or_refuses(gate, upstream, token, account, '/v1/whole/' + place, {})


@pytest.mark.parametrize('value', [{'place': 'production'}, {'place': 'live', 'note': 'n'}, {'note': 'n', 'place': 'production'},
                                   {'place': 'l\u0069ve', 'note': 'n'}])
def test_a_field_that_is_matched(gate, upstream, token, account, value):
    # Shows that a pattern which stands for all of a text is held against that text alone, wherever it stands.
    asks_or_refuses(gate, upstream, token, account, '/v1/words', value)
    other = {**value, 'place': 'staging', 'note': 'live'}
    assert gate.post('/v1/words', token + '-2', account=account, json=other).outcome == 'created'


@pytest.mark.parametrize('target, value', [
    ('any', {'place': 'staging'}), ('any', {}), ('list', {'place': 8}), ('list', {'place': None}),
    ('text?p=production&laces=1', {'n': 1}), ('text', {'place': 'productions'}), ('kept', {'place': 'x', 'places': 'production'}),
    ('over', {'amount': 100}), ('over', {'amount': 0}), ('route/staging', {}), ('below/x', None), ('alway', {}),
])
def test_what_is_something_else(gate, upstream, token, account, target, value):
    # Shows that nobody is asked about what is merely near.
    response = gate.post('/v1/' + target, token, account=account, json=value)
    assert response.outcome == 'created', response
