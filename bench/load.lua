-- The requests that wrk sends, and what it saw, as one line of JSON.
--
--     wrk … URL -- first NAME       every request carries a key of its own
--     wrk … URL -- rules NAME       the same, and its business and its resource are its own, too
--     wrk … URL -- replay NAME COUNT   COUNT keys, over and over
--
-- NAME keeps one round's keys apart from every other's. A key looks like the random UUID
-- that a client would send: its first digits are scattered, so that keys do not arrive in
-- the order of any index. Requests are put together by hand: wrk.format() would cost more
-- than what is measured. The body is the same throughout, but for `rules`, where the key stands in
-- it twice; run sends the same ones.
local threads = 0

function setup(thread)
	thread:set("number", threads)
	threads = threads + 1
end

local head, tail, key, count
local after_event, after_valve -- of `rules`: what follows the places where the key stands again
local n = 0

-- Keep in step with key_of() in load.py.
local function key_of(i)
	return string.format("%08x-%s%02x-%07x", (i * 2654435761) % 4294967296, key, number, i)
end

local BEGINNING = '{"project":"apollo","title":"The third valve of tank two sticks",' ..
	'"priority":"normal","reporter":"agent-7","labels":["valve","tank-2"],"source_event_id":"'
local END = '","estimate":12.50,"urgent":false}'

function init(args)
	local body = BEGINNING .. "evt_01HZX4Q9T7" .. END
	local length = #body

	key = args[2]
	if args[1] == "rules" then
		body = BEGINNING
		after_event = '","valve":"'
		after_valve = '","currency":"EUR' .. END
		length = #body + #after_event + #after_valve + 2 * #key_of(0)
	end
	count = args[1] == "replay" and tonumber(args[3]) or 0
	if count > 0 then
		number = 0
	end
	head = "POST /v1/tickets HTTP/1.1\r\nHost: " .. wrk.headers["Host"] ..
		"\r\nContent-Type: application/json\r\nContent-Length: " .. length ..
		"\r\nIdempotency-Key: "
	tail = "\r\n\r\n" .. body
end

function request()
	n = n + 1
	if count > 0 then
		n = n % count
	end
	if after_event then
		local own = key_of(n)

		return head .. own .. tail .. own .. after_event .. own .. after_valve
	end
	return head .. key_of(n) .. tail
end

function done(summary, latency, requests)
	local e = summary.errors

	io.write(string.format('BENCH {"requests":%d,"microseconds":%d,"p50_us":%d,"p99_us":%d,' ..
		'"max_us":%d,"bad_status":%d,"broken":%d}\n',
		summary.requests, summary.duration, latency:percentile(50),
		latency:percentile(99), latency.max, e.status,
		e.connect + e.read + e.write + e.timeout))
end
