/*
 * Unknown operations: what the gate knows of each, and a person's word for those who found out.
 */
import {h, replace, said, when, state, count, emptyPlace, operationLink, field} from './dom.js';
import {get, post} from './api.js';
import {allFacts} from './operations.js';

const SHOWN = 25;

function known(operation) {
	const notes = (operation.attempts ?? []).filter((attempt) => attempt.note);
	const last = notes[notes.length - 1];

	return [
		h('p', null, 'Sent ', when(operation.created), '; no certain answer came back. ',
			operation.due ? ['The gate asks the service again ', when(operation.due), '.'] : 'The gate has no way, or no way any more, to find out by itself.'),
		last ? h('p', {class: 'consequence'}, said(last.note), ' (', when(last.at), ')') : null,
	];
}

function resolveForm(operation, happened, card) {
	const why = h('textarea', {rows: 2, name: 'why', required: true, maxlength: 2000});
	const reference = h('input', {name: 'reference', autocomplete: 'off', spellcheck: 'false'});
	const retry = h('input', {type: 'checkbox', name: 'retry'});
	const alert = h('p', {class: 'alert', role: 'alert'});

	retry.id = 'retry-' + operation.id;
	return h('form', {class: 'answer-form', onsubmit: async (event) => {
		event.preventDefault();
		if (!why.value.trim()) {
			alert.textContent = 'Say how you know.';
			why.focus();
			return;
		}
		try {
			await post(`/api/operations/${encodeURIComponent(operation.id)}/resolve`, {
				happened, why: why.value.trim(), epoch: operation.epoch,
				...(happened && reference.value.trim() ? {reference: reference.value.trim()} : {}),
				...(happened ? {} : {retry: retry.checked}),
			});
			card.done(happened ? 'Recorded: it happened. Retries are told so.' : 'Recorded: it did not happen.');
		} catch (problem) {
			alert.textContent = problem.message;
		}
	}, onkeydown: (event) => {
		if (event.key === 'Escape')
			card.close();
	}},
		h('p', null, happened ? 'You have seen at the service that it happened.' : 'You have seen at the service that it did not happen. If it did after all, a retry would do it twice.'),
		field('How do you know?', why),
		happened ? field('What does the service call it? (may stay empty)', reference) :
			h('p', {class: 'check'}, retry, h('label', {for: retry.id}, 'Its caller may send it again under the same token')),
		alert, h('div', {class: 'buttons'}, h('button', {type: 'submit', class: happened ? 'primary' : 'danger'}, happened ? 'It happened' : 'It did not happen'),
			h('button', {type: 'button', class: 'plain', onclick: () => card.close()}, 'Back')));
}

class Card {
	constructor(operation, context) {
		this.context = context;
		this.actions = h('div', {class: 'card-actions'});
		this.element = h('article', {class: 'card', 'data-operation': operation.id});
		this.update(operation);
	}

	update(operation) {
		const now = JSON.stringify(operation);

		if (this.open || this.isDone || now === this.drawn)
			return;
		this.drawn = now;
		this.operation = operation;
		replace(this.element, h('header', {class: 'card-head'}, h('div', {class: 'chips'}, state(operation.state), operation.action ? h('span', {class: 'chip'}, said(operation.action)) : null), operationLink(operation.id)),
			h('h2', {class: 'summary'}, h('code', null, said(`${operation.method} ${operation.path}`))),
			known(operation),
			h('details', {class: 'fold'}, h('summary', null, 'All that the gate knows'), allFacts(operation)), this.actions);
		this.close();
	}

	close() {
		this.open = false;
		if (!this.context.may('operate')) {
			replace(this.actions, h('p', {class: 'quiet'}, 'Your role looks at these and does not decide about them.'));
			return;
		}
		replace(this.actions, h('div', {class: 'buttons'},
			h('button', {type: 'button', onclick: () => this.ask(true)}, 'It happened…'),
			h('button', {type: 'button', onclick: () => this.ask(false)}, 'It did not happen…')));
	}

	ask(happened) {
		this.open = true;
		replace(this.actions, resolveForm(this.operation, happened, this));
		this.actions.querySelector('textarea').focus();
	}

	done(text) {
		this.open = false;
		this.isDone = true;
		this.element.classList.add('is-decided');
		replace(this.actions, h('p', {class: 'done', tabindex: -1}, text, ' ', h('a', {href: '#/operations/' + this.operation.id}, 'See the operation')));
		this.actions.firstChild.focus();
		this.context.announce(text);
		this.context.refreshCounts();
	}
}

export const unknown = {
	title: 'Unknown',
	show(root, context) {
		const cards = new Map();
		const alert = h('p', {class: 'alert', role: 'alert'});
		const list = h('div', {class: 'cards'}), more = h('p', {class: 'quiet'});

		replace(root, h('h1', null, 'Unknown'),
			h('p', {class: 'lead'}, 'Sent, and no certain answer came back. No clock ends this: the service says what became of them, or a person does who found out.'),
			alert, list, more);

		async function refresh() {
			try {
				const page = await get(`/api/operations?state=unknown&limit=${SHOWN}`, true);
				const found = await Promise.all(page.operations.map((operation) => get('/api/operations/' + operation.id, true)));
				const wanted = new Set(found.map((operation) => operation.id));
				for (const [id, card] of cards) {
					if (!wanted.has(id) && !card.isDone && !card.open) {
						card.element.remove();
						cards.delete(id);
					}
				}
				for (const operation of found) {
					if (operation.state !== 'unknown')
						continue;
					if (!cards.has(operation.id)) {
						cards.set(operation.id, new Card(operation, context));
						list.append(cards.get(operation.id).element);
					}
					cards.get(operation.id).update(operation);
				}
				list.querySelector('.empty')?.remove();
				if (!cards.size)
					list.append(emptyPlace('Nothing is unknown', 'What became of every operation is known.'));
				more.textContent = page.next ? `The newest ${count(SHOWN, 'one')} are shown.` : '';
				alert.textContent = '';
			} catch (problem) {
				alert.textContent = problem.message;
			}
		}
		refresh();
		return {refresh};
	},
};
