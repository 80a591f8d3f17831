/*
 * Which proxy a request goes through: the one of the options, else the environment's, as curl has it.
 *
 * Decisions alone: the environment is given. `http_proxy` counts in lower case only, since a web
 * server hands out a header "Proxy" under the other name.
 */
import {BlockList, isIP, isIPv4} from 'node:net';

export const PORT = 1080; // of a proxy that names none, as curl has it

/** The proxy's URL, or null. `proxy`: "" is none at all, null the environment's; so `noProxy`. */
export function proxyFor(text, proxy, noProxy, env) {
	const url = new URL(text);
	const chosen = proxy ?? ofEnvironment(url.protocol.slice(0, -1), env);
	const exempt = noProxy ?? (env.no_proxy || env.NO_PROXY || '');
	if (!chosen || isExempt(url.hostname.replace(/^\[|\]$/g, ''), exempt))
		return null;
	return chosen.includes('://') ? chosen : `http://${chosen}`;
}

function ofEnvironment(scheme, env) {
	const names = [`${scheme}_proxy`, ...(scheme === 'http' ? [] : [`${scheme}_proxy`.toUpperCase()]), 'all_proxy',
		'ALL_PROXY'];
	return env[names.find((name) => env[name])] ?? '';
}

/* Is a host, or an address without its brackets, one of those that are reached without a proxy? */
function isExempt(host, noProxy) {
	const each = noProxy.split(/[ \t,]+/);
	if (noProxy === '*')
		return true;
	return isIP(host) ? each.some((wanted) => isIn(host, wanted)) :
		each.some((wanted) => isBelow(host.toLowerCase().replace(/\.+$/, ''), wanted));
}

/* The very name, or one below it; a dot before it or behind it does not count. */
function isBelow(name, wanted) {
	const bare = wanted.toLowerCase().replace(/^\.|\.$/g, '');
	return bare !== '' && (name === bare || name.endsWith(`.${bare}`));
}

/* The very address, or one of a network such as 192.168.0.0/16. */
function isIn(address, wanted) {
	const [network, bits] = wanted.split('/'), family = isIPv4(address) ? 'ipv4' : 'ipv6', list = new BlockList();
	try {
		list.addSubnet(network, bits === undefined ? (family === 'ipv4' ? 32 : 128) : Number(bits), family);
	} catch {
		return false;
	}
	return list.check(address, family);
}
