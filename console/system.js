/*
 * How the gate is doing: an overview, locks, budgets and the queue, the audit log.
 */
import {h, replace, said, who, when, moment, state, badge, count, facts, emptyPlace, operationLink, field, stateName} from './dom.js';
import {get, query} from './api.js';
import {columnsOf, outcomeChart, legend} from './charts.js';
import {operationTable} from './operations.js';
import {waitingCount} from './approvals.js';
import {verificationPanel} from './verification.js';

const COLUMNS = 48;

/* -- overview ------------------------------------------------------------------------- */

function figure(n, label, href, tone) {
	return h('a', {class: 'figure ' + tone, href}, h('b', null, n), h('span', null, label));
}

export const overview = {
	title: 'Overview',
	show(root, context) {
		const alert = h('p', {class: 'alert', role: 'alert'});
		const figures = h('div', {class: 'figures'}), chart = h('div'), recent = h('div');

		replace(root, h('h1', null, 'Overview'), alert, figures, chart, recent);

		async function drawChart() {
			if (!context.session.all_accounts)
				return;
			const document = await get('/api/outcomes?hours=24', true);
			const columns = columnsOf(document, COLUMNS);
			replace(chart, h('section', {class: 'panel', 'aria-labelledby': 'chart-title'}, h('h2', {id: 'chart-title'}, 'How requests ended'),
				outcomeChart(columns), legend(columns), h('p', {class: 'hint'}, 'The last 24 hours; counted since this gate started, ', when(document.since), '.')));
		}

		async function refresh() {
			try {
				const [waiting, doubtful, queued, newest] = await Promise.all([waitingCount(), get('/api/operations?state=unknown&limit=100', true),
					get('/api/operations?state=queued&limit=100', true), get('/api/operations?limit=10', true)]);
				replace(figures, figure(waiting, waiting === 1 ? 'question waits for a person' : 'questions wait for a person', '#/approvals', waiting ? 'ask' : 'still'),
					figure(doubtful.operations.length, 'unknown', '#/unknown', doubtful.operations.length ? 'warn' : 'still'),
					figure(queued.operations.length, 'queued', '#/operations?state=queued', 'still'));
				await drawChart();
				replace(recent, h('h2', null, 'Newest operations'), newest.operations.length ? operationTable(newest.operations, 'Newest operations') :
					emptyPlace('No write yet', ['Send one through the gate with an ', h('code', null, 'Idempotency-Key'), '; it appears here by itself.']));
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}
		refresh();
		return {refresh};
	},
};

/* -- locks, budgets, queue -------------------------------------------------------------- */

function lockRow(lock) {
	return h('tr', null, h('td', null, h('code', null, said(lock.name))), h('td', null, who(lock.account)),
		h('td', null, lock.holder ? [operationLink(lock.holder.id), ' ', state(lock.holder.state)] : h('span', {class: 'quiet'}, 'free')),
		h('td', null, lock.holder ? when(lock.holder.since) : ''), h('td', null, Number(lock.waiting) ? count(Number(lock.waiting), 'operation') : ''),
		h('td', null, lock.version));
}

function lockTable(list) {
	return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Locks'}, h('table', {class: 'list'},
		h('thead', null, h('tr', null, ['Lock', 'Account', 'Held by', 'Since', 'Waiting', 'Version'].map((name) => h('th', {scope: 'col'}, name)))),
		h('tbody', null, list.map(lockRow))));
}

function budgetRow(budget) {
	const {opener, text, currency} = budget;

	return h('tr', null, h('td', null, opener ? [operationLink(opener.id), h('div', {class: 'quiet'}, said(opener.action))] : h('span', {class: 'quiet'}, 'not known any more')),
		h('td', null, said(opener?.reference)), h('td', null, opener ? who(opener.account) : ''),
		[text.opened, text.used, text.left].map((amount) => h('td', null, `${amount} ${currency}`)),
		h('td', null, budget.until ? when(budget.until) : 'for good'));
}

function budgetTable(list) {
	return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Budgets'}, h('table', {class: 'list'},
		h('thead', null, h('tr', null, ['Opened by', 'Reference', 'Account', 'Opened', 'Used', 'Left', 'Ends'].map((name) => h('th', {scope: 'col'}, name)))),
		h('tbody', null, list.map(budgetRow))));
}

/*
 * A list that is shown from its beginning, as many pages of it as were asked for. Its button stays
 * where it is while the rest is drawn anew, so that who is at it stays there.
 */
function growing(path, name, draw, refresh) {
	let wanted = 1;
	const body = h('div'), pager = h('div', {class: 'buttons pager'});
	const button = h('button', {type: 'button', onclick: () => {
		wanted++;
		refresh();
	}}, `More ${name}`);

	async function show() {
		const list = [];
		let next = null;

		for (let i = 0; i < wanted && (i === 0 || next); i++) {
			const page = await get(query(path, {cursor: next}), true);
			list.push(...page[name]);
			({next} = page);
		}
		replace(body, draw(list));
		if (!next)
			button.remove();
		else if (!button.isConnected)
			pager.append(button);
	}
	return {show, root: h('div', null, body, pager)};
}

export const locks = {
	title: 'Locks and budgets',
	show(root) {
		const alert = h('p', {class: 'alert', role: 'alert'});
		const queue = h('div');
		const section = (id, title, body) => h('section', {'aria-labelledby': id}, h('h2', {id}, title), body);
		const held = growing('/api/locks', 'locks', (list) => list.length ? lockTable(list) : emptyPlace('No lock is held', 'Nobody waits for one either.'), refresh);
		const budgets = growing('/api/budgets', 'budgets', (list) => list.length ? budgetTable(list) :
			emptyPlace('No budget is open', 'What an action declares with opens_budget appears here.'), refresh);

		replace(root, h('h1', null, 'Locks, budgets and queue'), alert, section('locks-title', 'Locks', held.root),
			section('budgets-title', 'Budgets', budgets.root), section('queue-title', 'Queue', queue));

		async function refresh() {
			try {
				const [queued] = await Promise.all([get('/api/operations?state=queued&limit=50', true), held.show(), budgets.show()]);
				replace(queue, queued.operations.length ? operationTable(queued.operations, 'Queue') : emptyPlace('The queue is empty', 'Everything has been sent.'));
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}
		refresh();
		return {refresh};
	},
};

/* -- audit log --------------------------------------------------------------------------- */

const FILTERS = [['operation', 'Operation'], ['token', 'Token'], ['account', 'Account'], ['agent', 'Agent'], ['event', 'Event']];

function published(status) {
	return h('section', {class: 'panel', 'aria-labelledby': 'published-title'}, h('h2', {id: 'published-title'}, 'The log itself'), facts([
		['Entries', String(status.size)],
		['Newest checkpoint', !status.readable ? badge('cannot be read', 'bad') : status.checkpoint ? [count(Number(status.checkpoint.size), 'entry', 'entries'), ', root ', h('code', null, said(String(status.checkpoint.root)))] : 'none yet'],
		['Name', status.origin ? said(status.origin) : null],
		['Anchors', status.anchors?.length ? status.anchors.map((anchor) => h('div', null, said(anchor))) : 'none: who can write the data directory could cut the log short'],
		['Witnesses', status.witnesses?.length ? status.witnesses.map((witness) => h('div', null, said(witness.name), ' ', witness.cosigned_s ? badge('has cosigned it', 'good') : badge('has not cosigned it', 'warn'))) : null],
		['Its signature', status.checkpoint ? (status.checkpoint.signed ? badge('holds, by this gate’s key', 'good') : badge('does not hold', 'bad')) : null],
	]));
}

function entryRow(entry) {
	const move = entry.to ? [h('span', {class: 'quiet'}, `${stateName(entry.from ?? 'new')} → `), stateName(entry.to)] : '';

	if (!entry.readable)
		return h('tr', null, h('td', null, entry.seq), h('td', null, moment(entry.time)), h('td', {colspan: 5, class: 'quiet'}, `${entry.type}: no key here opens it`));
	return h('tr', null, h('td', null, entry.seq), h('td', null, h('time', {datetime: entry.time, title: entry.time}, moment(entry.time))),
		h('td', null, (entry.events ?? [entry.event ?? entry.type]).map((name) => [h('b', null, said(name)), ' '])),
		h('td', null, entry.operation ? operationLink(entry.operation) : said(entry.subject ?? '')),
		h('td', {class: 'move'}, move), h('td', null, said([entry.by, entry.agent].filter(Boolean).join(' · '))),
		h('td', {class: 'wide said'}, said(entry.reason ?? entry.note ?? entry.why ?? entry.action ?? '')));
}

function entryTable(list) {
	return h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Entries'}, h('table', {class: 'list'},
		h('thead', null, h('tr', null, ['No.', 'Time', 'Events', 'About', 'Move', 'By', 'Said'].map((name) => h('th', {scope: 'col', class: name === 'Said' ? 'wide' : null}, name)))),
		h('tbody', null, list.map(entryRow))));
}

export const audit = {
	title: 'Audit log',
	power: 'audit',
	show(root, context) {
		const values = Object.fromEntries(context.search);
		const alert = h('p', {class: 'alert', role: 'alert'});
		const verification = verificationPanel(() => refresh());
		const status = h('div'), list = h('div'), pager = h('div', {class: 'buttons pager'});
		const form = h('form', {class: 'filters', role: 'search', 'aria-label': 'Audit log', onsubmit: (event) => {
			event.preventDefault();
			location.hash = query('#/audit', Object.fromEntries([...new FormData(event.target)].map(([n, v]) => [n, v.trim()])));
		}}, FILTERS.map(([name, label]) => field(label, h('input', {name, value: values[name] ?? '', autocomplete: 'off', spellcheck: 'false'}))),
			h('div', {class: 'buttons'}, h('button', {type: 'submit', class: 'primary'}, 'Search'), h('a', {class: 'button plain', href: '#/audit'}, 'Clear')));

		replace(root, h('h1', null, 'Audit log'), alert, status, verification.element, form, list, pager);

		async function refresh(isRefresh = true) {
			try {
				const state = await get('/api/audit/status', isRefresh);
				replace(status, published(state));
				verification.show(state.verification);
				const page = await get(query('/api/audit', {...values, limit: 50}), isRefresh);
				replace(list, page.entries.length ? entryTable(page.entries) : emptyPlace('None found', page.next !== null ? 'None among those looked at; older ones may match.' : 'What has just happened is published within seconds.'));
				replace(pager, values.cursor ? h('button', {type: 'button', onclick: () => history.back()}, 'Newer') : null,
					page.next !== null && page.next !== undefined ? h('a', {class: 'button', href: query('#/audit', {...values, cursor: page.next})}, 'Older') : null);
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}
		refresh(false);
		return {refresh, stop: verification.stop};
	},
};
