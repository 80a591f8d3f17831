/*
 * Operations: looking for them, and one of them with its whole life.
 */
import {h, replace, said, when, moment, state, stateName, badge, count, facts, fingerprint, emptyPlace, operationLink, field} from './dom.js';
import {get, post, query} from './api.js';
import {timeline, groupOf} from './charts.js';

const PAGE = 50;
const STATES = ['awaiting_approval', 'queued', 'running', 'unknown', 'completed', 'failed', 'cancelled'];
const FILTERS = [['token', 'Token'], ['task', 'Task'], ['action', 'Action'], ['reference', 'Reference'], ['account', 'Account']];

export function operationRows(list) {
	return list.map((operation) => h('tr', null,
		h('td', null, operationLink(operation.id)),
		h('td', null, state(operation.state)),
		h('td', {class: 'what'}, operation.action ? said(operation.action) : h('code', null, said(`${operation.method} ${operation.path}`))),
		h('td', {class: 'wide'}, h('code', {class: 'cut'}, said(operation.token))),
		h('td', null, operation.attempt_count),
		h('td', null, when(operation.updated))));
}

export function operationTable(list, label) {
	return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': label}, h('table', {class: 'list'},
		h('thead', null, h('tr', null, ['Operation', 'State', 'What', 'Token', 'Attempts', 'Changed'].map((name) =>
			h('th', {scope: 'col', class: name === 'Token' ? 'wide' : null}, name)))),
		h('tbody', null, operationRows(list))));
}

/* -- the list ------------------------------------------------------------------------ */

function filterForm(context, values) {
	const select = h('select', {name: 'state'}, h('option', {value: ''}, 'any'),
		STATES.map((name) => h('option', {value: name, selected: values.state === name}, stateName(name))));
	const inputs = FILTERS.filter(([name]) => name !== 'account' || context.session.all_accounts)
		.map(([name, label]) => field(label, h('input', {name, value: values[name] ?? '', spellcheck: 'false', autocomplete: 'off'})));

	return h('form', {class: 'filters', role: 'search', 'aria-label': 'Operations', onsubmit: (event) => {
		const wanted = Object.fromEntries(new FormData(event.target));
		event.preventDefault();
		location.hash = query('#/operations', Object.fromEntries(Object.entries(wanted).map(([n, v]) => [n, v.trim()])));
	}}, field('State', select), inputs, h('div', {class: 'buttons'}, h('button', {type: 'submit', class: 'primary'}, 'Search'),
		h('a', {class: 'button plain', href: '#/operations'}, 'Clear')));
}

export const operations = {
	title: 'Operations',
	show(root, context) {
		const values = Object.fromEntries(context.search);
		const alert = h('p', {class: 'alert', role: 'alert'});
		const list = h('div'), pager = h('div', {class: 'buttons pager'});

		replace(root, h('h1', null, 'Operations'), filterForm(context, values), alert, list, pager);

		async function refresh(isRefresh = true) {
			try {
				const page = await get(query('/api/operations', {...values, limit: PAGE}), isRefresh);
				replace(list, page.operations.length ? operationTable(page.operations, 'Operations') :
					emptyPlace('None found', page.next ? 'None on this page; there may be older ones.' : 'No operation is like that.'));
				replace(pager, values.cursor ? h('button', {type: 'button', onclick: () => history.back()}, 'Newer') : null,
					page.next ? h('a', {class: 'button', href: query('#/operations', {...values, cursor: page.next})}, 'Older') : null);
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}
		refresh(false);
		return {refresh};
	},
};

/* -- one ----------------------------------------------------------------------------- */

function whoAsked(attempt) {
	const who = attempt.agent || (attempt.by === 'caller' ? 'its caller' : `the ${attempt.by}`);

	return [said(who), attempt.task ? [' (task ', said(attempt.task), attempt.step ? [', step ', said(attempt.step)] : null, ')'] : null];
}

/* "Created once, replayed 3 times; last asked by …" */
export function sentence(operation) {
	const attempts = operation.attempts ?? [];
	const n = (outcome) => attempts.filter((attempt) => attempt.outcome === outcome).length;
	const asked = attempts.filter((attempt) => attempt.by === 'caller');
	const last = asked[asked.length - 1];
	const times = (many) => (many === 1 ? 'once' : many === 2 ? 'twice' : `${many} times`);
	const parts = [operation.state === 'completed' ? 'Created once' : `${stateName(operation.state)}`];

	if (n('replayed'))
		parts.push(`replayed ${times(n('replayed'))}`);
	if (n('reused'))
		parts.push(`met by another token ${times(n('reused'))}`);
	if (n('conflict'))
		parts.push(`refused ${times(n('conflict'))} because the token came with another command`);
	return h('p', {class: 'sentence'}, parts.join(', '), last ? ['; last asked by ', whoAsked(last), ' ', when(last.at)] : null, '.');
}

function attemptRow(attempt) {
	return h('li', {class: 'event'}, h('span', {class: 'event-dot ' + groupOf(attempt.outcome).className, 'aria-hidden': 'true'}),
		h('div', null, h('p', {class: 'event-head'}, h('b', null, String(attempt.outcome).replace('_', ' ')), ' – ', whoAsked(attempt),
			attempt.delivered === false ? [' ', badge('answer did not get out', 'warn')] : null),
		attempt.note ? h('p', null, said(attempt.note)) : null,
		h('p', {class: 'quiet'}, h('time', {datetime: attempt.at}, moment(attempt.at)), attempt.request_id ? [' · request ', said(attempt.request_id)] : null)));
}

function lockText(lock) {
	const parts = [h('code', null, said(lock.name)), lock.holds ? ' (held)' : lock.waits ? ' (waits for it)' : ''];

	return lock.holder && !lock.holds ? [parts, ' – held by ', operationLink(lock.holder)] : parts;
}

function ruleFacts(rules) {
	return [
		['Lock', rules?.lock ? lockText(rules.lock) : null],
		['Budget', rules?.budget ? `spends ${rules.budget.spends} of ${rules.budget.total} ${rules.budget.currency} (${rules.budget.left} left, minor units)` : null],
		['Identity', rules?.unique ? ['its own until ', when(rules.unique.until)] : null],
	];
}

export function allFacts(operation) {
	return facts([
		['Account', said(operation.account)],
		['Token', h('code', null, said(operation.token))],
		['Action', operation.action ? said(operation.action) : null],
		['Request', h('code', null, said(`${operation.method} ${operation.path}`))],
		['Service', operation.upstream ? said(operation.upstream) : null],
		['Answer', operation.response ? `${operation.response.status}, ${count(Number(operation.response.length), 'byte')}${operation.response.kept ? '' : ', not kept'}` : null],
		['Reference', operation.reference ? said(operation.reference) : null],
		['Resource', operation.resource ? said(operation.resource) : null],
		['Downstream key', operation.downstream_key ? h('code', null, said(operation.downstream_key)) : null],
		['Reason', operation.reason ? said(operation.reason) : null],
		['Decided by', operation.decided_by ? said(operation.decided_by) : null],
		['Seen to next', operation.due ? when(operation.due) : null],
		...ruleFacts(operation.rules),
		['Retry of', operation.retry_of ? operationLink(operation.retry_of) : null],
		['Retried by', operation.retried_by?.length ? operation.retried_by.map((id) => [operationLink(id), ' ']) : null],
		['Created', [moment(operation.created), ' (', when(operation.created), ')']],
		['May be forgotten', ['completed', 'failed', 'cancelled'].includes(operation.state) ? when(operation.expires) : null],
		['Fingerprint', fingerprint(operation.fingerprint)],
	]);
}

function decisionForm(operation, verb, label, danger, done) {
	const why = h('input', {name: 'why', required: true, maxlength: 2000, autocomplete: 'off'});
	const alert = h('p', {class: 'alert', role: 'alert'});

	return h('form', {class: 'answer-form', onsubmit: async (event) => {
		event.preventDefault();
		try {
			await post(`/api/operations/${encodeURIComponent(operation.id)}/${verb}`, {why: why.value.trim()});
			done();
		} catch (problem) {
			alert.textContent = problem.message;
		}
	}}, field('Why?', why, danger), alert, h('div', {class: 'buttons'}, h('button', {type: 'submit', class: 'danger'}, label)));
}

function decisions(operation, context, done) {
	const made = [];

	if (!context.may('operate'))
		return null;
	if (operation.state === 'queued' || operation.state === 'awaiting_approval')
		made.push(h('details', {class: 'fold'}, h('summary', null, 'Cancel it'),
			decisionForm(operation, 'cancel', 'Cancel the operation', 'It will never be sent.', done)));
	if (operation.rules?.lock?.holds)
		made.push(h('details', {class: 'fold'}, h('summary', null, 'Take its lock away'),
			decisionForm(operation, 'release', 'Take the lock away', 'What it locked may be changed by others while it may still act. Audited.', done)));
	return made.length ? h('div', {class: 'decisions'}, made) : null;
}

export const operation = {
	title: 'Operations',
	show(root, context) {
		const alert = h('p', {class: 'alert', role: 'alert'});
		const body = h('div');
		let drawn = '';

		replace(root, h('p', {class: 'crumb'}, h('a', {href: '#/operations'}, 'Operations')), alert, body);

		function draw(found) {
			const events = found.attempts ?? [];
			const hidden = Number(found.attempt_count) - events.length;

			replace(body, h('div', {class: 'title-line'}, h('h1', {class: 'id-title'}, found.id), state(found.state)),
				sentence(found),
				found.state === 'unknown' ? h('p', {class: 'notice'}, 'Nobody knows whether this happened. ', context.may('operate') ? h('a', {href: '#/unknown'}, 'Say what became of it') : null) : null,
				found.state === 'awaiting_approval' ? h('p', {class: 'notice'}, 'It waits for a person. ', h('a', {href: '#/approvals/' + found.id}, 'See the question')) : null,
				events.length ? h('section', {class: 'panel life', 'aria-label': 'Time line'}, timeline(found, events)) : null,
				h('div', {class: 'columns'},
					h('section', {'aria-labelledby': 'what-title'}, h('h2', {id: 'what-title'}, 'What it is'), allFacts(found), decisions(found, context, () => refresh(false))),
					h('section', {'aria-labelledby': 'life-title'}, h('h2', {id: 'life-title'}, 'Attempts and events'),
						hidden > 0 ? h('p', {class: 'quiet'}, `${count(hidden, 'attempt')} between the first and the newest ${hidden === 1 ? 'is' : 'are'} no longer kept.`) : null,
						h('ol', {class: 'events'}, events.map(attemptRow)))));
		}

		async function refresh(isRefresh = true) {
			try {
				const found = await get('/api/operations/' + encodeURIComponent(context.id), isRefresh);
				const now = JSON.stringify(found);
				if (now !== drawn && !(isRefresh && body.querySelector('form:focus-within')))
					draw(found);
				drawn = now;
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.status === 404 ? 'There is no such operation, or it has been forgotten.' : problem.message;
			}
		}
		refresh(false);
		return {refresh};
	},
};
