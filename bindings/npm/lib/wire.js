/*
 * One HTTP exchange on a connection of its own, and nothing else: never sent a second time, no
 * redirect followed.
 *
 * What a caller has to know afterwards is one of three things: no byte of the request left; bytes
 * left and no whole answer came back; a whole answer. Nothing here is thrown.
 */
import {readFileSync} from 'node:fs';
import http from 'node:http';
import https from 'node:https';
import {isIP} from 'node:net';
import tls from 'node:tls';

import {originOf} from './identity.js';
import {PORT, proxyFor} from './proxy.js';

export const NOT_LEFT = 'not left', UNCLEAR = 'unclear', ANSWERED = 'answered';
const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

/**
 * Send one request; all of it takes `timeoutMs` at most. `headers`: [name, value] pairs; `body`: a
 * Buffer or null; `route`: {caFile, clientCert, clientKey, isInsecure, proxy, noProxy, connectMs}.
 * A promise of {kind, why, status, headers, body}.
 */
export async function exchange(method, url, headers, body, timeoutMs, route) {
	const talk = {hasLeft: false, closers: []};
	const timer = new Promise((_, reject) => {
		talk.timer = setTimeout(() => reject(new Error('no whole answer in time')), timeoutMs);
		talk.connectTimer = setTimeout(() => reject(new Error('no connection in time')), route.connectMs);
	});
	try {
		return await Promise.race([converse(talk, method, url, headers, body, route), timer]);
	} catch (error) {
		return {kind: talk.hasLeft ? UNCLEAR : NOT_LEFT, why: error.message || error.code, status: 0,
			headers: [], body: Buffer.alloc(0)};
	} finally {
		clearTimeout(talk.timer);
		clearTimeout(talk.connectTimer);
		for (const close of talk.closers)
			close();
	}
}

async function converse(talk, method, text, headers, body, route) {
	const url = new URL(text), isTls = url.protocol === 'https:';
	const through = proxyFor(text, route.proxy, route.noProxy, process.env);
	const proxy = through ? readProxy(through) : null;
	const target = text.slice(originOf(text).length); // as it is spelled: URL would tidy it up
	const options = {method, agent: false, ...addressOf(url), path: target, setHost: false};
	const lines = [['Host', url.host], ...headers];
	if (isTls && proxy)
		Object.assign(options, {agent: undefined, createConnection: await tunnelled(talk, url, proxy, route)});
	else if (isTls)
		Object.assign(options, trust(url, route));
	else if (proxy)
		Object.assign(options, {...proxy.address, path: text});
	if (proxy && !isTls)
		lines.push(...proxy.headers);
	if (body || method !== 'GET')
		lines.push(['Content-Length', String(body?.length ?? 0)]);
	lines.push(['Connection', 'close']);
	options.headers = lines.flat();
	return answerTo((isTls ? https : http).request(options), talk, isTls && !options.createConnection, body);
}

/* Put the request out and wait for the whole answer. */
function answerTo(request, talk, isTls, body) {
	const leave = () => {
		talk.hasLeft = true;
		clearTimeout(talk.connectTimer);
	};
	talk.closers.push(() => request.destroy());
	return new Promise((resolve, reject) => {
		request.on('error', reject);
		request.on('socket', (socket) => {
			// Bytes wait in Node until the connection stands: before that none has left.
			if (!socket.connecting && !isTls)
				leave();
			socket.once(isTls ? 'secureConnect' : 'connect', leave);
		});
		request.on('response', (response) => {
			const pieces = [];
			let length = 0;
			response.on('data', (piece) => {
				length += piece.length;
				pieces.push(piece);
				if (length > ANSWER_BYTES_MAX)
					reject(new Error(`the answer is larger than ${ANSWER_BYTES_MAX} bytes`));
			});
			response.on('error', reject);
			response.on('aborted', () => reject(new Error('half an answer')));
			response.on('end', () => {
				if (response.complete)
					resolve({kind: ANSWERED, why: '', status: response.statusCode,
						headers: pairs(response.rawHeaders), body: Buffer.concat(pieces)});
				else
					reject(new Error('half an answer'));
			});
		});
		request.end(body ?? undefined);
	});
}

/* A maker of the TLS connection through a proxy's CONNECT; it stands already. */
function tunnelled(talk, url, proxy, route) {
	const target = `${url.hostname}:${url.port || 443}`;
	const request = http.request({method: 'CONNECT', agent: false, ...proxy.address, path: target,
		setHost: false, headers: [['Host', target], ...proxy.headers].flat()});
	talk.closers.push(() => request.destroy());
	return new Promise((resolve, reject) => {
		request.on('error', reject);
		request.on('response', (response) => reject(new Error(`the proxy answered ${response.statusCode}`)));
		request.on('connect', (response, socket) => {
			talk.closers.push(() => socket.destroy());
			if (response.statusCode !== 200) {
				reject(new Error(`the proxy answered ${response.statusCode}`));
				return;
			}
			const secure = tls.connect({socket, ...trust(url, route)});
			secure.once('error', reject);
			secure.once('secureConnect', () => resolve(() => secure));
		});
		request.end();
	});
}

function addressOf(url) {
	return {host: url.hostname.replace(/^\[|\]$/g, ''), port: url.port || undefined};
}

/* Whom to trust, and as whom to come. */
function trust(url, route) {
	const {host} = addressOf(url);
	return {
		servername: isIP(host) ? '' : host,
		host,
		rejectUnauthorized: !route.isInsecure,
		ca: route.caFile && readFileSync(route.caFile),
		cert: route.clientCert && readFileSync(route.clientCert),
		key: route.clientCert && readFileSync(route.clientKey ?? route.clientCert),
	};
}

function readProxy(text) {
	const url = new URL(text);
	if (url.protocol !== 'http:')
		throw new Error('a proxy is given as http://host:port');
	const pair = `${decodeURIComponent(url.username)}:${decodeURIComponent(url.password)}`;
	const headers = url.username ? [['Proxy-Authorization', `Basic ${Buffer.from(pair).toString('base64')}`]] : [];
	const [, port = PORT] = /:([0-9]+)\/?$/.exec(text) ?? []; // URL would drop an 80 that is written
	return {address: {...addressOf(url), port}, headers};
}

function pairs(flat) {
	const found = [];
	for (let i = 0; i < flat.length; i += 2)
		found.push([flat[i], flat[i + 1]]);
	return found;
}
