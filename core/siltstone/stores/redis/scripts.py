"""What Redis does in one step, in Lua. Each script names its keys, all of one user, and so of one slot.

The hash of a user: ``as_of``, the store's revision that the copies are of; ``pass``, which goes up when that changes
other than by what is copied, too, and so voids every copy at once; ``fence``, another one after each drop, so that
nobody who read before it puts back what was dropped; and for each session ``s:SESSION``, ``pass:until``, of its copy.

A turn is ``until|at|id|json``: microseconds until when it is a recent one, when it was said, its id, encoded, and the
message. All times are the client's; Redis measures only how long from now a key may live.
"""

from __future__ import annotations

from typing import Final

_HEAD: Final = """
local function parts(turn) return string.match(turn, '^(%-?%d+)|(%-?%d+)|([^|]*)|') end
local function lives(key, milliseconds)
  if redis.call('PTTL', key) < milliseconds then redis.call('PEXPIRE', key, milliseconds) end
end
local function mark(name, value, now)
  redis.call('HSET', KEYS[1], name, value)
  if redis.call('HLEN', KEYS[1]) % 64 == 0 then  -- sessions that are over
    local all = redis.call('HGETALL', KEYS[1])
    for n = 1, #all, 2 do
      local ends = string.match(all[n + 1], '^%d+:(%-?%d+)$')
      if string.sub(all[n], 1, 2) == 's:' and ends and tonumber(ends) < now then redis.call('HDEL', KEYS[1], all[n]) end
    end
  end
end
"""

COPIED: Final = (
    _HEAD
    + """
local session, now, limit = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local head = redis.call('HMGET', KEYS[1], 'as_of', 'fence', 'pass', session)
local nothing = {'', head[2] or ''}
local pass = head[4] and string.match(head[4], '^(%d+):')
if not head[1] or not pass or pass ~= head[3] then return nothing end
local held = redis.call('LRANGE', KEYS[2], 0, -1)
if #held == 0 then return nothing end
local answer = {head[1], head[2] or ''}
for n = #held, 1, -1 do
  local ends = parts(held[n])
  if not ends then return nothing end  -- somebody else's
  if tonumber(ends) >= now and #answer < limit + 2 then answer[#answer + 1] = held[n] end
end
return answer
"""
)
"""Keys: the user, the session. ``s:SESSION, now, limit`` → revision or nothing, fence, turns, newest first."""

COPY: Final = (
    _HEAD
    + """
local session, as_of, fence, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local ends, life, least = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local head = redis.call('HMGET', KEYS[1], 'as_of', 'fence', 'pass')
if (head[2] or '') ~= fence then return 0 end
local pass = head[3] or '0'
if head[1] ~= as_of then
  pass = redis.call('HINCRBY', KEYS[1], 'pass', 1)
  redis.call('HSET', KEYS[1], 'as_of', as_of)
end
redis.call('DEL', KEYS[2])
for n = 8, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[n]) end
redis.call('PEXPIRE', KEYS[2], life)
mark(session, pass .. ':' .. ends, now)
lives(KEYS[1], math.max(life, least))
return 1
"""
)
"""Keys: the user, the session. ``s:SESSION, revision, fence, now, until, life, least`` and turns → whether they are."""

FOLLOW: Final = (
    _HEAD
    + """
local before, after, session, now = ARGV[1], ARGV[2], ARGV[3], tonumber(ARGV[4])
local ends, life, least, most = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]), tonumber(ARGV[8])
if redis.call('HGET', KEYS[1], 'as_of') ~= before then return 0 end
redis.call('HSET', KEYS[1], 'as_of', after)
lives(KEYS[1], math.max(life, least))
if not KEYS[2] then return 1 end
local head = redis.call('HMGET', KEYS[1], 'pass', session)
local pass = head[2] and string.match(head[2], '^(%d+):')
if not pass or pass ~= (head[1] or '0') then return 1 end
local held = redis.call('LRANGE', KEYS[2], 0, -1)
local ids, last, fits = {}, nil, #held > 0
for n = 1, #held do
  local _, at, id = parts(held[n])
  if not at then fits = false break end
  ids[id], last = true, tonumber(at)
end
for n = 9, #ARGV do
  local _, at, id = parts(ARGV[n])
  if not fits or ids[id] or tonumber(at) < last then fits = false break end
  ids[id], last = true, tonumber(at)
end
if not fits then
  redis.call('DEL', KEYS[2])
  redis.call('HDEL', KEYS[1], session)
  return 1
end
for n = 9, #ARGV do redis.call('RPUSH', KEYS[2], ARGV[n]) end
redis.call('LTRIM', KEYS[2], -most, -1)
local oldest = redis.call('LINDEX', KEYS[2], 0)
while oldest and tonumber((parts(oldest))) < now do
  redis.call('LPOP', KEYS[2])
  oldest = redis.call('LINDEX', KEYS[2], 0)
end
lives(KEYS[2], life)
mark(session, pass .. ':' .. ends, now)
return 1
"""
)
"""Keys: the user, and the session where there are turns. ``before, after, s:SESSION, now, until, life, least, most``
and turns, which are said later than all that is copied, or else the copy goes."""

APPEND: Final = (
    _HEAD
    + """
local session, now, ends, life, most = ARGV[1], tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
redis.call('HDEL', KEYS[1], 'as_of')
local at = {}
local held = redis.call('LRANGE', KEYS[2], 0, -1)
for n = 1, #held do
  local _, _, id = parts(held[n])
  if id then at[id] = n end
end
local count = #held
for n = 6, #ARGV do
  local _, _, id = parts(ARGV[n])
  if at[id] then
    redis.call('LSET', KEYS[2], at[id] - 1, ARGV[n])
  else
    redis.call('RPUSH', KEYS[2], ARGV[n])
    count = count + 1
    at[id] = count
  end
end
redis.call('LTRIM', KEYS[2], -most, -1)
lives(KEYS[2], life)
mark(session, '0:' .. ends, now)
lives(KEYS[1], life)
return 1
"""
)
"""Keys: the user, the session. ``s:SESSION, now, until, life, most`` and turns: the store's own word, no copy."""

DROP: Final = """
local fence, least = ARGV[1], tonumber(ARGV[2])
local meant = {}
for n = 3, #ARGV do meant[ARGV[n]] = true end
for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
  if string.sub(name, 1, 2) == 's:' and not meant[name] then return 0 end
end
for n = 2, #KEYS do redis.call('UNLINK', KEYS[n]) end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'fence', fence)
redis.call('PEXPIRE', KEYS[1], least)
return 1
"""
"""Keys: the user, all sessions. ``fence, least, s:SESSION…`` → whether these were all of them, and all are gone."""

DROP_SESSION: Final = (
    _HEAD
    + """
redis.call('UNLINK', KEYS[2])
redis.call('HDEL', KEYS[1], ARGV[3])
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
lives(KEYS[1], tonumber(ARGV[2]))
return 1
"""
)
"""Keys: the user, the session. ``fence, least, s:SESSION``."""

DROP_TURNS: Final = (
    _HEAD
    + """
local gone = {}
for n = 3, #ARGV do gone[ARGV[n]] = true end
for _, turn in ipairs(redis.call('LRANGE', KEYS[2], 0, -1)) do
  local _, _, id = parts(turn)
  if not id or gone[id] then redis.call('LREM', KEYS[2], 0, turn) end
end
redis.call('HSET', KEYS[1], 'fence', ARGV[1])
redis.call('HDEL', KEYS[1], 'as_of')
lives(KEYS[1], tonumber(ARGV[2]))
return 1
"""
)
"""Keys: the user, the session. ``fence, least`` and encoded ids. What is left is no copy any more."""
