/*
 * Approvals: questions that wait for a person.
 *
 * What is sent with a decision is the fingerprint that was on the screen: if the question has become
 * another meanwhile, the gate refuses. A card that somebody is answering stays as it is while the
 * page refreshes; its time runs on.
 */
import {h, replace, said, who, codeBlock, json, when, moment, count, badge, facts, fingerprint, emptyPlace, operationLink, field, span, state} from './dom.js';
import {get, post} from './api.js';

const SOON_S = 120, SHOWN = 30;

let numbers = 0;

export async function waitingCount() {
	const found = await get('/api/approvals?state=waiting&limit=100', true);

	return found.approvals.length;
}

function secondsLeft(approval) {
	return (Date.parse(approval.expires_at) - Date.now()) / 1000;
}

/* -- what it is --------------------------------------------------------------------- */

function reversibility(approval) {
	if (approval.reversible === true)
		return badge('Can be undone', 'good');
	if (approval.reversible === false)
		return badge('Cannot be undone', 'bad');
	return badge('Nobody has said whether it can be undone', 'still');
}

function destination(approval) {
	const to = approval.destination ?? {};

	return h('code', {class: 'destination'}, h('b', null, said(to.method)), ' ', said(to.url ?? to.path ?? to.upstream));
}

/* Those that the service acts on. */
function headers(approval) {
	const named = Object.entries(approval.sent?.headers ?? {});

	return named.length ? named.map(([name, text]) => h('div', null, h('code', null, said(name)), ' ', value(text))) : null;
}

function value(of) {
	return of === undefined || of === null ? h('span', {class: 'quiet'}, 'nothing') : h('code', null, json(of));
}

/* Masks are equal, whatever is behind them. */
function notCompared(approval) {
	return JSON.stringify(approval.command ?? null).includes('••••') ? 'Secret fields may differ; they are not compared.' : null;
}

function changes(approval) {
	if (!approval.previous)
		return h('p', {class: 'quiet'}, 'The first of its kind for this account: there is nothing to compare it with.');
	const changed = [...(approval.sent_changed ?? []), ...(approval.changed ?? [])];

	if (!changed.length)
		return h('p', null, 'The same as the last of its kind, ', operationLink(approval.previous.operation), ' ', when(approval.previous.at), '. ', notCompared(approval));
	return [
		h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'What changed'}, h('table', {class: 'changes'},
			h('thead', null, h('tr', null, ['Field', 'Last time', 'Now'].map((name) => h('th', {scope: 'col'}, name)))),
			h('tbody', null, changed.map((change) => h('tr', null,
				h('th', {scope: 'row'}, said(change.path)), h('td', {class: 'was'}, value(change.from)),
				h('td', {class: 'is'}, value(change.to))))))),
		h('p', {class: 'hint'}, 'Compared with ', operationLink(approval.previous.operation), ', ', when(approval.previous.at), '. ', notCompared(approval)),
	];
}

function answersSoFar(approval) {
	if (!approval.answers?.length)
		return null;
	return h('ul', {class: 'answers'}, approval.answers.map((answer) => h('li', null,
		badge(answer.verdict, answer.verdict === 'approved' ? 'good' : 'bad'), ' ',
		who(answer.agent || answer.by), ' ', when(answer.at ?? (answer.at_ms ? new Date(Number(answer.at_ms)).toISOString() : null)),
		answer.why ? [': ', said(answer.why)] : null)));
}

function equals(approval) {
	if (!approval.alike)
		return null;
	return h('details', {class: 'fold'},
		h('summary', null, `${count(approval.alike, 'equal question')} of the same agent ${approval.alike === 1 ? 'waits' : 'wait'} too`),
		h('p', {class: 'hint'}, 'Each is an operation of its own. Your answer is for this one alone; the next one then takes its place.'),
		h('ul', null, (approval.alike_ids ?? []).map((id) => h('li', null, operationLink(id)))));
}

/* -- answering ---------------------------------------------------------------------- */

function form(card, verdict) {
	const {approval} = card;
	const isDenial = verdict === 'deny';
	const why = h('textarea', {rows: 2, name: 'why', required: isDenial, maxlength: 2000});
	const send = h('button', {type: 'submit', class: isDenial ? 'danger' : 'primary'}, isDenial ? 'Deny it' : 'Approve this command');
	const alert = h('p', {class: 'alert', role: 'alert'});

	async function submit(event) {
		event.preventDefault();
		if (isDenial && !why.value.trim()) {
			alert.textContent = 'Say why: the agent is told.';
			why.focus();
			return;
		}
		send.disabled = true;
		alert.textContent = '';
		try {
			await post(`/api/approvals/${encodeURIComponent(approval.operation.id)}/${verdict}`,
				{fingerprint: approval.fingerprint, question: approval.question, ...(why.value.trim() ? {why: why.value.trim()} : {})});
			card.decided(verdict);
		} catch (problem) {
			alert.textContent = problem.message;
			send.disabled = false;
		}
	}
	const made = h('form', {class: 'answer-form ' + verdict, onsubmit: submit, onkeydown: (event) => {
		if (event.key === 'Escape')
			card.close();
	}},
		field(isDenial ? 'Why not?' : 'A note for the record (may stay empty)', why, isDenial ? 'The agent is told this, and it is kept in the audit log.' : null),
		isDenial ? null : h('p', {class: 'hint'}, 'You approve the command shown above, fingerprint ',
			h('code', null, String(approval.fingerprint).slice(0, 16) + '…'), ', once.'),
		alert, h('div', {class: 'buttons'}, send, h('button', {type: 'button', class: 'plain', onclick: () => card.close()}, 'Back')));
	return [made, isDenial ? why : send];
}

class Card {
	constructor(approval, context, onDecided) {
		this.context = context;
		this.onDecided = onDecided;
		this.time = h('span', {class: 'countdown'});
		this.actions = h('div', {class: 'card-actions'});
		this.element = h('article', {class: 'card approval', 'data-operation': approval.operation.id});
		this.update(approval);
	}

	get isBusy() {
		return this.open || this.isDecided;
	}

	update(approval) {
		const now = JSON.stringify(approval);

		if (this.isBusy || now === this.drawn)
			return;
		this.drawn = now;
		this.approval = approval;
		this.draw();
		this.tick();
	}

	draw() {
		const {approval} = this;
		const title = 'approval-' + ++numbers;

		this.element.setAttribute('aria-labelledby', title);
		replace(this.element,
			h('header', {class: 'card-head'},
				h('div', {class: 'chips'}, h('span', {class: 'chip'}, said(approval.action)),
					approval.class ? h('span', {class: 'chip'}, said(approval.class)) : null, reversibility(approval)),
				this.time),
			h('h2', {id: title, class: 'summary'}, said(approval.summary)),
			approval.consequence ? h('p', {class: 'consequence'}, said(approval.consequence)) : null,
			facts([
				['Goes to', destination(approval)],
				['Headers', headers(approval)],
				['Asked by', [who(approval.asked?.agent || approval.asked?.by), ', ', when(approval.asked?.at)]],
				['Account', who(approval.asked?.account)],
				['Agreed', approval.needed > 1 ? `${approval.given} of ${approval.needed} people` : null],
				['Operation', operationLink(approval.operation.id)],
			]),
			answersSoFar(approval),
			h('h3', null, 'What changed'), changes(approval),
			h('h3', null, 'The exact command'),
			codeBlock(approval.command ?? approval.body_preview ?? null, 'The exact command'),
			h('p', {class: 'fingerprint-line'}, h('span', {class: 'quiet'}, 'Fingerprint '), fingerprint(approval.fingerprint)),
			equals(approval), this.actions);
		this.close();
	}

	close() {
		const hadFocus = this.actions.contains(document.activeElement);

		this.open = false;
		if (!this.context.may('decide')) {
			replace(this.actions, h('p', {class: 'quiet'}, 'Your role looks at approvals and does not answer them.'));
			return;
		}
		this.approve = h('button', {type: 'button', class: 'primary', onclick: () => this.ask('approve')}, 'Approve…');
		replace(this.actions, h('div', {class: 'buttons'}, this.approve,
			h('button', {type: 'button', class: 'quiet-danger', onclick: () => this.ask('deny')}, 'Deny…')));
		if (hadFocus)
			this.approve.focus();
	}

	ask(verdict) {
		const [made, focus] = form(this, verdict);

		this.open = true;
		replace(this.actions, made);
		focus.focus();
	}

	decided(verdict) {
		const {approval} = this;
		const more = verdict === 'approve' && approval.needed - approval.given > 1;

		this.open = false;
		this.isDecided = true;
		replace(this.time);
		replace(this.actions, h('p', {class: 'done', tabindex: -1},
			verdict === 'deny' ? 'Denied. Nothing was sent.' : more ? 'Your approval counts. One more person has to agree.' : 'Approved. The gate sends it now.',
			' ', h('a', {href: '#/operations/' + approval.operation.id}, 'See the operation')));
		this.actions.firstChild.focus();
		this.element.classList.add('is-decided');
		this.context.announce(verdict === 'deny' ? 'Denied.' : 'Approved.');
		this.onDecided();
	}

	over() {
		if (this.isOver || this.isDecided)
			return;
		this.isOver = true;
		this.open = false;
		this.element.classList.add('is-over');
		replace(this.actions, h('p', {class: 'done'}, 'Its time is over. Nothing was sent, and nothing will be; the agent is told so.'));
	}

	tick() {
		const left = secondsLeft(this.approval);

		if (this.isDecided)
			return;
		this.time.className = 'countdown' + (left <= 0 ? ' over' : left < SOON_S ? ' soon' : '');
		replace(this.time, left <= 0 ? 'expired' : ['expires in ', h('b', null, span(left))]);
		this.time.title = moment(this.approval.expires_at);
		if (left <= 0)
			this.over();
	}
}

/* -- the page ----------------------------------------------------------------------- */

/*
 * What changed since the last of its kind is told of one question alone; it is asked again only
 * where the question is not the one that it was asked for.
 */
async function whole(approval, known) {
	const now = JSON.stringify(approval), was = known.get(approval.operation.id);

	if (was?.of === now)
		return was.whole;
	try {
		const found = await get('/api/approvals/' + encodeURIComponent(approval.operation.id), true);
		const made = {...approval, previous: found.previous, changed: found.changed, command: found.command};
		known.set(approval.operation.id, {of: now, whole: made});
		return made;
	} catch {
		return approval;
	}
}

/* Of equal questions the first stands for all. */
function fold(list) {
	const folded = new Set();

	return list.filter((approval) => {
		if (folded.has(approval.operation.id))
			return false;
		(approval.alike_ids ?? []).forEach((id) => folded.add(id));
		return true;
	});
}

function pastRow(approval) {
	const last = approval.answers?.[approval.answers.length - 1];

	return h('tr', null, h('td', null, h('a', {href: '#/operations/' + approval.operation.id}, said(approval.summary))),
		h('td', null, state(approval.operation.state)),
		h('td', null, last ? [last.verdict, ' by ', who(last.agent || last.by)] : h('span', {class: 'quiet'}, 'nobody answered')),
		h('td', null, last?.why ? said(last.why) : ''), h('td', null, when(approval.asked?.at)));
}

function past(list) {
	if (!list.length)
		return null;
	return h('section', {class: 'past', 'aria-labelledby': 'past-title'}, h('h2', {id: 'past-title'}, 'Answered'),
		h('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-labelledby': 'past-title'}, h('table', {class: 'list'},
			h('thead', null, h('tr', null, ['Question', 'Operation', 'Answer', 'Why', 'Asked'].map((name) => h('th', {scope: 'col'}, name)))),
			h('tbody', null, list.map(pastRow)))));
}

export const approvals = {
	title: 'Approvals',
	show(root, context) {
		const cards = new Map(), known = new Map();
		const alert = h('p', {class: 'alert', role: 'alert'});
		const list = h('div', {class: 'cards'});
		const history = h('div');
		const lead = h('p', {class: 'lead'});
		let isFirst = true;

		replace(root, h('h1', null, 'Approvals'), lead, alert, list, history);

		function place(waiting) {
			const wanted = new Set(waiting.map((approval) => approval.operation.id));
			const fresh = waiting.filter((approval) => !cards.has(approval.operation.id));

			for (const [id, card] of cards) {
				if (!wanted.has(id) && secondsLeft(card.approval) <= 1)
					card.over();
				if (!wanted.has(id) && !card.isBusy && !card.isOver) {
					card.element.remove();
					cards.delete(id);
				}
			}
			for (const approval of waiting) {
				const id = approval.operation.id;
				if (cards.has(id))
					cards.get(id).update(approval);
				else {
					const card = new Card(approval, context, () => context.refreshCounts());
					cards.set(id, card);
					list.append(card.element);
				}
			}
			list.querySelector('.empty')?.remove();
			if (!cards.size)
				list.append(emptyPlace('Nothing waits for you', 'When an agent asks for something that a person has to agree to, it appears here by itself.'));
			if (!isFirst && fresh.length)
				context.announce(`${count(fresh.length, 'new approval')}: ${fresh[0].summary}`);
			isFirst = false;
		}

		async function refresh() {
			try {
				const [waiting, all] = await Promise.all([get('/api/approvals?state=waiting&limit=100', true), get('/api/approvals?state=all&limit=50', true)]);
				const open = fold(waiting.approvals).sort((a, b) => (a.expires_at < b.expires_at ? -1 : 1))
					.sort((a, b) => (b.operation.id === context.id) - (a.operation.id === context.id));
				place(await Promise.all(open.slice(0, SHOWN).map((approval) => whole(approval, known))));
				lead.textContent = waiting.approvals.length ? `${count(waiting.approvals.length, 'question waits', 'questions wait')}; what expires first stands first.` : '';
				replace(history, past(all.approvals.filter((approval) => approval.operation.state !== 'awaiting_approval')));
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}

		const ticking = setInterval(() => cards.forEach((card) => card.tick()), 1000);
		refresh();
		return {refresh, stop: () => clearInterval(ticking)};
	},
};
