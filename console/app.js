/*
 * The console: who is signed in, which page is shown, and keeping it fresh.
 *
 * A page is an object {title, power, show(root, context)}; show() returns {refresh(), stop()}. The
 * bell of /api/events asks the page that is shown to fetch anew; nothing is taken from the bell itself.
 */
import {h, replace} from './dom.js';
import * as api from './api.js';
import {approvals, waitingCount} from './approvals.js';
import {operations, operation} from './operations.js';
import {unknown} from './unknown.js';
import {overview, locks, audit} from './system.js';

const REFRESH_MS = 300, POLL_MS = 20000;

const pages = {overview, approvals, operations, unknown, locks, audit};
const navigation = ['approvals', 'unknown', 'operations', 'locks', 'audit', 'overview'];

let session = null, shown = null, bell = null, refreshTimer = 0, poll = 0;

const $ = (id) => document.getElementById(id);

/* -- signing in --------------------------------------------------------------------- */

function showSignIn(message) {
	const key = h('input', {type: 'password', name: 'key', autocomplete: 'current-password', required: true,
		spellcheck: 'false', autocapitalize: 'off'});
	const alert = h('p', {class: 'alert', role: 'alert', id: 'sign-in-alert'});
	const form = h('form', {class: 'sign-in-form', onsubmit: submit},
		h('label', {for: 'sign-in-key'}, 'Your key'), key,
		h('p', {class: 'hint'}, 'It begins with cfk_. Whoever runs the gate can use the text of the file admin-token, or the link that counterfoil serve prints.'),
		alert, h('button', {class: 'primary', type: 'submit'}, 'Sign in'));

	key.id = 'sign-in-key';
	async function submit(event) {
		event.preventDefault();
		try {
			begin(await api.signIn({key: key.value.trim()}));
		} catch (problem) {
			alert.textContent = problem.status === 401 ? 'This key does not let you in. It may be mistyped, expired or revoked.' : problem.message;
			key.select();
		}
	}
	stop();
	document.body.dataset.signed = 'out';
	document.title = 'Sign in – Counterfoil';
	replace($('page'), h('section', {class: 'sign-in', 'aria-labelledby': 'sign-in-title'},
		h('h1', {id: 'sign-in-title'}, 'Sign in'),
		h('p', {class: 'lead'}, 'The people’s side of the gate: what waits for a decision, what happened, and what nobody knows yet.'),
		form));
	alert.textContent = message ?? '';
	key.focus();
}

async function signOut() {
	try {
		await api.signOut();
		session = null;
		showSignIn();
	} catch (problem) {
		announce(problem.message);
	}
}

function may(power) {
	return session.powers.includes(power);
}

function begin(given) {
	session = given;
	document.body.dataset.signed = 'in';
	replace($('who'), h('span', {class: 'who-name'}, session.agent || session.credential),
		h('span', {class: 'who-role'}, session.all_accounts ? session.role : `${session.role} of ${session.account}`),
		h('button', {type: 'button', class: 'plain', onclick: signOut}, 'Sign out'));
	if (['', 'link'].includes(route().name))
		history.replaceState(null, '', '#/' + (may('decide') ? 'approvals' : 'overview'));
	listen();
	go();
}

/* -- pages -------------------------------------------------------------------------- */

function route() {
	const [path, search = ''] = location.hash.replace(/^#\/?/, '').split('?');
	const [name, ...rest] = path.split('/').map((part) => {
		try {
			return decodeURIComponent(part);
		} catch {
			return '';
		}
	});

	return {name, id: rest[0] ?? '', search: new URLSearchParams(search)};
}

function drawNavigation(current) {
	replace($('navigation'), navigation
		.filter((name) => !pages[name].power || may(pages[name].power))
		.map((name) => h('a', {href: '#/' + name, 'aria-current': name === current ? 'page' : null, id: 'nav-' + name},
			pages[name].title, h('span', {class: 'nav-count', id: 'count-' + name, hidden: true}))));
	$('nav-' + current)?.scrollIntoView({inline: 'center', block: 'nearest'});
}

function go() {
	const where = route();
	let page = pages[where.name];

	if (!session)
		return;
	if (where.name === 'operations' && where.id)
		page = operation;
	if (!page || (page.power && !may(page.power))) {
		location.hash = '#/overview';
		return;
	}
	shown?.stop?.();
	drawNavigation(where.name);
	document.title = `${page.title} – Counterfoil`;
	const root = h('div', {class: 'page'});
	replace($('page'), root);
	shown = page.show(root, {...where, session, may, announce, refreshCounts});
	window.scrollTo(0, 0);
	refreshCounts();
}

async function refreshCounts() {
	try {
		const [waiting, doubtful] = await Promise.all([waitingCount(), api.get('/api/operations?state=unknown&limit=100', true)]);
		setCount('approvals', waiting, 'waiting');
		setCount('unknown', doubtful.operations.length, 'unknown');
	} catch {
		/* the page itself says what is wrong */
	}
}

function setCount(name, n, word) {
	const element = $('count-' + name);

	if (!element)
		return;
	element.hidden = !n;
	replace(element, n > 99 ? '99+' : n, h('span', {class: 'sr'}, ' ' + word));
	if (name === 'approvals')
		document.title = document.title.replace(/^(\(\d+\) )?/, n ? `(${n}) ` : '');
}

function announce(text) {
	$('announcer').textContent = '';
	setTimeout(() => { $('announcer').textContent = text; }, 50);
}

/* -- keeping fresh ------------------------------------------------------------------ */

function refreshSoon() {
	clearTimeout(refreshTimer);
	refreshTimer = setTimeout(() => {
		shown?.refresh?.();
		refreshCounts();
	}, REFRESH_MS);
}

function setLive(isLive) {
	$('live').dataset.live = isLive ? 'yes' : 'no';
	$('live-text').textContent = isLive ? 'live' : 'reconnecting';
}

function listen() {
	bell?.close();
	clearInterval(poll);
	bell = new EventSource('/api/events');
	bell.onopen = () => {
		setLive(true);
		refreshSoon();
	};
	bell.onmessage = refreshSoon;
	bell.onerror = () => {
		setLive(false);
		refreshSoon();
	};
	poll = setInterval(refreshSoon, POLL_MS);
}

function stop() {
	bell?.close();
	clearInterval(poll);
	clearTimeout(refreshTimer);
	shown?.stop?.();
	bell = shown = null;
}

/* -- the beginning ------------------------------------------------------------------ */

async function start() {
	const where = route();

	api.onSignedOut(() => {
		session = null;
		showSignIn('Your session is over. Sign in again.');
	});
	$('skip').addEventListener('click', (event) => {
		event.preventDefault();
		$('page').focus();
	});
	window.addEventListener('hashchange', () => (session ? go() : start()));
	try {
		if (where.name === 'link' && where.id) {
			history.replaceState(null, '', '#/');
			begin(await api.signIn({link: where.id}));
			return;
		}
		const resumed = await api.resume();
		if (resumed)
			begin(resumed);
		else
			showSignIn();
	} catch (problem) {
		showSignIn(problem.message);
	}
}

start();
