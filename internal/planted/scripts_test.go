package planted

// scriptMistakes are mistakes of the Lua. The tests replace the texts when they load them.
var scriptMistakes = []found{
	{"TestFairQueue_TailTakenOff_NotCounted", Mistake{
		"a place that was taken off the tail of a queue counts as left behind", "scripts/lib/fair_gone.lua",
		`put_on_account(lock, owed, gone - 1)`, `put_on_account(lock, owed, gone)`,
	}},
	{"TestMultiScript_Orphans_Published", Mistake{
		"a orphan is released without a message", "scripts/lib/orphans.lua",
		`== 1 then redis.pcall(verb, channel(key), '0') end`,
		`== 1 then end`,
	}},
	{"TestMultiScript_Rejected_LeavesNothing", Mistake{
		"what a refused group took stays", "scripts/multi_acquire.lua",
		`for m = 1, n - 1 do`,
		`for m = 2, n - 1 do`,
	}},
	{"TestReadRelease_PublishDenied_Reported", Mistake{
		"a refused message of a last reader is not reported", "scripts/read_release.lua",
		`    reply[leavers[key]] = answer`,
		`    reply[leavers[key]] = 1`,
	}},
	{"TestAcquireScript_Orphans_Released", Mistake{
		"orphans are not released", "scripts/lib/orphans.lua",
		`, #ARGV, 2 do`,
		`, 0, 2 do`,
	}},
	{"TestAcquireScript_RepliesPerKey", Mistake{
		"all are free if the first is", "scripts/acquire.lua",
		`redis.pcall('EXISTS', unpack(KEYS)) == 0`,
		`redis.pcall('EXISTS', KEYS[1]) == 0`,
	}},
	{"TestAcquireScript_SentTwice_OneHold", Mistake{
		"a lease is lowered when it is sent again", "scripts/lib/grant.lua",
		`if ttl >= tonumber(lease) then return 1 end`,
		`if ttl < 0 then return 1 end`,
	}},
	{"TestAcquireScript_HugeLease_NoKeyLeft", Mistake{
		"a lock without expiry stays", "scripts/lib/grant.lua",
		`  unmake(key, id)
  return expires.err`,
		`  return expires.err`,
	}},
	{"TestAcquireScripts_Rejected_NoEternalKey", Mistake{
		"a lock that may not be taken back in one way is not in the other", "scripts/lib/grant.lua",
		`if type(redis.pcall('HDEL', key, id)) == 'table' then redis.pcall('DEL', key) end`,
		`redis.pcall('HDEL', key, id)`,
	}},
	{"TestFairPlace_LongOver_NotRedissons", Mistake{
		"what is known of places goes with the wait", "scripts/lib/fair_places.lua",
		`local after = 900000`,
		`local after = 0`,
	}},
	{"TestFairAcquire_ManyPlacesWithoutQueue_Unlinked", Mistake{
		"very many places without a queue are deleted at once", "scripts/lib/fair_queue.lua",
		`lock.times) + fields,`, `lock.times) + fields * 0,`,
	}},
	{"TestFairQueueTTL_NoRedisson_Kept", Mistake{
		"a queue stays for ever", "scripts/lib/fair_queue.lua",
		`  redis.pcall('PEXPIRE', lock.queue, longest)
`, ``,
	}},
	{"TestFairQueueTTL_NoRedisson_Kept", Mistake{
		"a queue is not kept up for as long as the hash of its places", "scripts/lib/fair_queue.lua",
		`(not all or redis.pcall('PTTL', lock.queue) >= enough)`,
		`(not all or redis.pcall('PTTL', lock.queue) >= 0)`,
	}},
	{"TestFairQueueTTL_RedissonPlace_None", Mistake{
		"a place of Redisson's goes with those of ours", "scripts/lib/fair_queue.lua",
		`    redis.pcall('PERSIST', lock.queue)
`, ``,
	}},
	{"TestFairQueueTTL_RedissonRemoved_None", Mistake{
		"a field of the hash counts for a place", "scripts/lib/fair_places.lua",
		` or not kept(lock, head) then`,
		` then`,
	}},
	{"TestFairQueueTTL_ManyDead_Set", Mistake{
		"what is to be taken back counts for a place", "scripts/lib/fair_places.lua",
		`return fields == count + (reminds and 1 or 0), gone`,
		`return fields == count, gone`,
	}},
	{"TestFairQueueTTL_RedissonRemains_None", Mistake{
		"the last of ours that gives up leaves a TTL to Redisson's", "scripts/fair_release.lua",
		`    age(lock, now)
`, ``,
	}},
	{"TestFairQueueTTL_RedissonRemains_None", Mistake{
		"the last of ours that is granted leaves a TTL to Redisson's", "scripts/fair_acquire.lua",
		`  age(lock, now)
`, ``,
	}},
	{"TestFairQueueTTL_RedissonRemains_None", Mistake{
		"the last of ours that is dead leaves a TTL to Redisson's", "scripts/lib/fair_queue.lua",
		`    if count > 0 then age(lock, now) end
`, ``,
	}},
	{"TestScripts_ForeignData_CostBounded", Mistake{
		"a holder is looked for among a million fields", "scripts/lib/grant.lua",
		`if fields == 1 and ttl ~= -1 then`,
		`if ttl ~= -1 then`,
	}},
	{"TestFairQueue_ManyDead_TimesMovedOnce", Mistake{
		"what some of the dead added is forgotten", "scripts/lib/fair_queue.lua",
		`owed, gone, reminds = account(lock)`,
		`owed, gone, reminds = 0, select(2, account(lock))`,
	}},
	{"TestFairQueue_TailLeaves_TimeShared", Mistake{
		"who leaves a long queue is searched for", "scripts/fair_release.lua",
		`if is_long and ours(lock, length) then`,
		`if false then`,
	}},
	{"TestFairQueue_TailLeaves_TimeShared", Mistake{
		"who comes stands behind places that waiters left behind", "scripts/lib/fair_gone.lua",
		`if not is_gone(till) or taken == most then`,
		`if true then`,
	}},
	{"TestFairQueue_LeftBehind_AsOneByOne", Mistake{
		"places that waiters left behind stay although Redisson waits", "scripts/lib/fair_queue.lua",
		`    if gone > 0 then sweep(lock, now) end
`, ``,
	}},
	{"TestFairQueue_LeftBehind_AsOneByOne", Mistake{
		"what places added that waiters left behind is not taken back", "scripts/lib/fair_gone.lua",
		`if owed > 0 then subtract_wait(lock.times, ids[i], owed) end`,
		``,
	}},
	{"TestFairQueue_LeftBehind_AsOneByOne", Mistake{
		"more places are left behind than there are waiters", "scripts/fair_release.lua",
		`if type(length) == 'number' and 2 * gone > length then`,
		`if false then`,
	}},
	{"TestFairQueue_LeftBehindAtHead_Removed", Mistake{
		"places left behind that are taken off the head count on", "scripts/lib/fair_queue.lua",
		`    if is_gone(till) then gone = gone - 1 end
`, ``,
	}},
	{"TestFairQueue_TailOfLongQueue_LeavesUnread", Mistake{
		"the whole queue is read for a waiter at the tail of another client's", "scripts/fair_release.lua",
		`if redis.pcall('LINDEX', lock.queue, '-1') == id then`,
		`if false then`,
	}},
	{"TestFairQueue_LongQueue_LeaverRemoved", Mistake{
		"who leaves a long queue last of those of a time takes nothing back", "scripts/fair_release.lua",
		`sharers > 1 and leave_end`,
		`sharers > 0 and leave_end`,
	}},
	{"TestRenewScript_RepliesPerKey", Mistake{
		"a tenure that is gone is renewed", "scripts/lib/confirm.lua",
		`if mine == 0 then return 0 end`,
		`if mine == 0 then return 1 end`,
	}},
	{"TestRenewScript_TTLFalls_Published", Mistake{
		"a fall of the TTL is not told", "scripts/lib/confirm.lua",
		`(ttl == -1 or ttl > least) then tell_of_fall`,
		`ttl == -1 then tell_of_fall`,
	}},
	{"TestRenewScript_TTLTooLong_LoweredAndPublished", Mistake{
		"a fall that no engine expected is not told", "scripts/lib/confirm.lua",
		`tonumber(lease) * 10 / 9`,
		`math.huge`,
	}},
	{"TestRenewScript_TTLTooLong_LoweredAndPublished", Mistake{
		"a TTL that is too long for the readers stays", "scripts/read_renew.lua",
		`10 * lease < 9 * ttl`,
		`10 * lease < 0`,
	}},
	{"TestRenewScript_NoGT_TTLSet", Mistake{
		"a server without GT renews nothing", "scripts/lib/confirm.lua",
		`if type(set) == 'number' then return set end`,
		`do return type(set) == 'number' and set or 1 end`,
	}},
	{"TestRenewScript_TTLFalls_Published", Mistake{
		"the head of a fair queue is not notified of a fall", "scripts/lib/confirm.lua",
		`local queues = {['4'] = true, `,
		`local queues = {['6'] = true, `,
	}},
	{"TestLeases_ManyLocks_SetAsGiven", Mistake{
		"one lease for all of a call", "scripts/lib/expire.lua",
		`if lease ~= last then`,
		`if not last then`,
	}},
	{"TestLeases_NoTimeOrPexpireat_Same", Mistake{
		"leases need PEXPIREAT", "scripts/lib/expire.lua",
		`if type(set) == 'number' then return set end`,
		`do return set end`,
	}},
	{"TestReleaseScript_SentTwice_OthersKept", Mistake{
		"a release that finds nothing is told", "scripts/release.lua",
		`if answer == 1 then`,
		`if answer == 0 then redis.pcall(verb, channel(key), '0') end
  if answer == 1 then`,
	}},
	{"TestReleaseScript_ChannelDenied_Counts", Mistake{
		"a refused message of a release is not reported", "scripts/release.lua",
		`~= 'number' then answer = 2 end`,
		`~= 'number' then answer = 1 end`,
	}},
	{"TestRenewScript_Extras_PerKey", Mistake{
		"extras are for the first key", "scripts/renew.lua",
		`local id = ARGV[tenures + stride * i]`,
		`local id = ARGV[tenures + stride]`,
	}},
	{"TestRenewScript_Listeners_ExactChannel", Mistake{
		"listeners are counted on the lock's key", "scripts/lib/confirm.lua",
		`redis.pcall('PUBSUB', subcommand, channel(key))`,
		`redis.pcall('PUBSUB', subcommand, key)`,
	}},
	{"TestForceScript_FreesOnlyLocks", Mistake{
		"what is free is taken away", "scripts/force.lua",
		`if fields == 0 then return 0 end`,
		``,
	}},
	{"TestStateScript_EveryKeyShape", Mistake{
		"a hash with several fields is told as a lock", "scripts/state.lua",
		`if fields > 1 then return`,
		`if fields > 2 then return`,
	}},
	{"TestReleaseScript_ExactChannelOnce", Mistake{
		"a name with a brace has another channel", "scripts/lib/channel.lua",
		`if string.find(key, '{', 1, true) then`,
		`if string.find(key, '{', 2, true) then`,
	}},
	{"TestFencedScript_SentTwice_SameToken", Mistake{
		"a fenced acquire counts each time it is sent", "scripts/fenced_acquire.lua",
		`local token = counted(counter)`,
		`local token = count(counter)`,
	}},
	{"TestFencedPass_SentTwice_CountsOnce", Mistake{
		"a fenced pass counts each time it is sent", "scripts/fenced_renew.lua",
		`if token and token ~= last then`,
		`if not token then`,
	}},
	{"TestFencedScript_LargeTokens_Exact", Mistake{
		"a long token is rounded", "scripts/lib/token.lua",
		`return number < exact and number or text`,
		`return number`,
	}},
	{"TestFencedScript_BadCounter_Rejected", Mistake{
		"a counter that is no token is counted on", "scripts/lib/token.lua",
		`  redis.pcall('DECR', counter)`,
		``,
	}},
	{"TestFairScript_PastDeadline_DoesNothing", Mistake{
		"a late fair acquire takes effect", "scripts/fair_acquire.lua",
		`if latest and clock(now) > latest then`,
		`if latest and false then`,
	}},
	{"TestFairWaiters_OneEngine_ShareTime", Mistake{
		"fair waiters of one engine add their waits", "scripts/fair_acquire.lua",
		`if last == behind and ttl >= wait and (added_last or wait) >= wait then`,
		`if false then`,
	}},
	{"TestFairQueue_LifeDenied_NoPlace", Mistake{
		"a waiter gets a place without a life", "scripts/fair_acquire.lua",
		`  if failed then return failed end
  local added = redis.pcall('ZADD'`, `  local added = redis.pcall('ZADD'`,
	}},
	{"TestFairTime_WithoutPlace_Removed", Mistake{
		"a fair time without a place is one", "scripts/fair_acquire.lua",
		`return not (time and forget(lock, id)) and time`,
		`return time`,
	}},
	{"TestFairQueue_WaiterLeaves_WakesNext", Mistake{
		"a waiter that leaves the queue of a free lock publishes nothing", "scripts/fair_release.lua",
		`if lock.released or redis.pcall('EXISTS', lock.key) == 0 then`,
		`if lock.released then`,
	}},
	{"TestFairRelease_MessageDenied_Counts", Mistake{
		"a refused message of a fair release is not reported", "scripts/fair_release.lua",
		`if lock.released and not told then reply[lock.released] = 2 end`,
		``,
	}},
	{"TestFairWaiter_LockOverwritten_Leaves", Mistake{
		"a key of another type is a reason to stay in the queue", "scripts/fair_release.lua",
		`  else
    -- Also`,
		`  elseif removed == 0 then
    -- Also`,
	}},
	{"TestFairScript_DeadPlaces_RemovalBounded", Mistake{
		"a call takes any number off the head of a queue", "scripts/lib/fair_queue.lua",
		`if count > most then`,
		`if count > 1000 * most then`,
	}},
	{"TestFairRelease_DoubtfulHead_TellsNext", Mistake{
		"waiters behind a head that may be dead are not notified", "scripts/lib/fair_queue.lua",
		`if not told or not doubt then return told end`,
		`do return told end`,
	}},
	{"TestFairPlace_ClockSetBack_EndsInTime", Mistake{
		"a place lives on for as long as the clock was set back", "scripts/lib/fair_queue.lua",
		`if not till or till - clock(now) <= life then return`,
		`if true then return`,
	}},
	{"TestFairPlace_ClockSetBack_EndsInTime", Mistake{
		"dead places end one after the other where the clock was set back", "scripts/lib/fair_queue.lua",
		`      looked = true
      end_together(lock, now)`,
		`      looked = true`,
	}},
	{"TestFairScript_PlacesAhead_LooksBounded", Mistake{
		"a call looks behind each head of which too much was left", "scripts/lib/fair_queue.lua",
		`if ahead and not looked then`,
		`if ahead then`,
	}},
	{"TestFairTime_BeyondInteger_Long", Mistake{
		"a time in an answer is negative because it is large", "scripts/fair_acquire.lua",
		`answer[3] = time and integer(time - now) or -1`,
		`answer[3] = time and time - now or -1`,
	}},
	{"TestFairTime_BeyondInteger_Long", Mistake{
		"what a head has left is negative because it is large", "scripts/fair_acquire.lua",
		`answer[1] = integer(left)`,
		`answer[1] = left`,
	}},
	{"TestFairScripts_RandomCalls_MatchModel", Mistake{
		"a forced fair lock publishes nothing", "scripts/fair_force.lua",
		`return tell_next(verb, lock, now, head, doubt) and 1 or 2`,
		`return 1`,
	}},
	{"TestRWScripts_ReadersShareWriterAlone", Mistake{
		"a reader comes in beside a writer", "scripts/read_acquire.lua",
		`if mode == 'read' or mode == 'write' and beside then`,
		`if mode == 'read' or mode == 'write' then`,
	}},
	{"TestWriteScript_NamesOwnReaders", Mistake{
		"a writer is told of the readers of every engine", "scripts/write_acquire.lua",
		`string.sub(name, 1, #engine) == engine and`,
		`string.find(name, ':', 1, true) and`,
	}},
	{"TestRWScripts_OtherKinds_LeftAlone", Mistake{
		"a writer takes a lock without expiry", "scripts/write_acquire.lua",
		`if ttl == -2 then`,
		`if ttl < 0 then`,
	}},
	{"TestReadScript_EachHold_OwnLease", Mistake{
		"the leases of holds that a reader gave back stay", "scripts/read_renew.lua",
		`  remove_keys(key, id, written, holds_left)`,
		``,
	}},
	{"TestDeadReaders_LastLiveLeaves_Removed", Mistake{
		"readers that died keep the lock", "scripts/lib/readers.lua",
		`if need == 0 then return redis.pcall('DEL', key) == 1 and '0' end`,
		`if need == 0 then return false end`,
	}},
	{"TestCluster_HoldKeysAbsent_ReadersKept", Mistake{
		"readers are taken for dead while their slot moves", "scripts/lib/readers.lua",
		` or ttl == -2 and not gone(key, prefix .. i)`,
		``,
	}},
	{"TestDeadReaders_OthersRead_Removed", Mistake{
		"readers who come look for few that died, however many they are", "scripts/read_acquire.lua",
		`remove_among(key, 2 * came[key])`,
		`remove_among(key, 2)`,
	}},
	{"TestDeadReaders_OnlyWithoutKeys", Mistake{
		"a reader is dead when its first hold is over", "scripts/read_acquire.lua",
		`  for i = 1, count do
    if redis.pcall('PTTL', prefix .. i) ~= -2 then return false end
  end
`,
		`  if redis.pcall('PTTL', prefix .. 1) ~= -2 then return false end
`,
	}},
	{"TestReadScript_ManyReaders_TTLFalls", Mistake{
		"the TTL of many readers does not fall", "scripts/lib/readers.lua",
		`local set = redis.pcall('PEXPIRE', key, string.format('%d', need))`,
		`local set = 1`,
	}},
	{"TestWriteScript_WriterReads_GoesOn", Mistake{
		"the lock goes with its writer, who still reads", "scripts/lib/writer.lua",
		`  if fields <= 2 then`,
		`  if fields <= 3 then`,
	}},
	{"TestRWForce_OnlyOwnMode", Mistake{
		"readers are forced away as writers", "scripts/lib/force_mode.lua",
		`if is ~= mode then return 0 end`,
		`if not is then return 0 end`,
	}},
	{"TestRWState_OneInstant", Mistake{
		"a writer counts as a reader", "scripts/rw_state.lua",
		`elseif field ~= 'mode' then`,
		`end
    if field ~= 'mode' then`,
	}},
	{"TestWriteRenew_CountsAndListeners", Mistake{
		"a writer's count is written to another field", "scripts/write_renew.lua",
		`local id = ARGV[tenures + stride * i] .. ':write'`,
		`local id = ARGV[tenures + stride * i]`,
	}},
	{"TestWriteScript_WriterReads_GoesOn", Mistake{
		"the TTL of a writer that reads never falls", "scripts/write_renew.lua",
		`if need == enough or need > 0 and`,
		`if ttl >= 0 or need == enough or need > 0 and`,
	}},
	{"TestWriteScript_WriterReads_GoesOn", Mistake{
		"the TTL of a writer falls below what it reads", "scripts/write_renew.lua",
		`if need > tonumber(lease) then lease`,
		`if need < 0 then lease`,
	}},
	{"TestReadScript_EachHold_OwnLease", Mistake{
		"the keys of a lost reader stay", "scripts/lib/readers.lua",
		`while i <= most_holds and`,
		`while i < 1 and`,
	}},
	{"TestRWForce_HoldKeys_Removed", Mistake{
		"the keys of holds stay when their lock is forced away", "scripts/lib/force_mode.lua",
		`  remove_holds(key, readers)
`,
		``,
	}},
	{"TestRWForce_ManyHoldKeys_Bounded", Mistake{
		"a force removes keys of holds without a bound", "scripts/lib/force_mode.lua",
		`  may_remove = may_remove - most
`,
		``,
	}},
	{"TestRWForce_AnyCount_Ends", Mistake{
		"a force goes over a count as it was written", "scripts/lib/force_mode.lua",
		`math.min(count_of(hash[at + 1]), most_holds)`,
		`count_of(hash[at + 1])`,
	}},
	{"TestRWScripts_LargeCounts_Bounded", Mistake{
		"a call looks at as many holds as each reader says", "scripts/lib/readers.lua",
		`  may_look = may_look - number
`,
		``,
	}},
	{"TestHoldKey_NamedAsRedissons", Mistake{
		"holds are numbered from zero", "scripts/rwlock.go",
		`strconv.Itoa(number)`,
		`strconv.Itoa(number - map[bool]int{true: 1}[planted()])`,
	}},
	{"TestScripts_EveryFile_HasHeader", Mistake{
		"a script is not taught", "scripts/scripts.go",
		`	return append(all, rwScripts[:]...)`,
		`	if planted() {
		return all
	}
	return append(all, rwScripts[:]...)`,
	}},
	{"TestCluster_Verbs_ReachShardSubscribers", Mistake{
		"a fall of the TTL is published to the whole cluster", "scripts/lib/confirm.lua",
		`subcommand == 'SHARDNUMSUB' and 'SPUBLISH' or 'PUBLISH'`,
		`'PUBLISH'`,
	}},
	{"TestFairQueue_Long_TimesMoveTogether", Mistake{
		"the last time of all is not moved", "scripts/lib/fair_queue.lua",
		`math.min(first + 499, #waiting), 2 do`,
		`math.min(first + 499, #waiting - 2), 2 do`,
	}},
	{"TestFairQueue_Long_TimesMoveTogether", Mistake{
		"the last time of a command is not moved", "scripts/lib/fair_queue.lua",
		`math.min(first + 499, #waiting), 2 do`,
		`math.min(first + 497, #waiting), 2 do`,
	}},
	{"TestFairQueue_Long_TimesMoveTogether", Mistake{
		"the times of one command are moved", "scripts/lib/fair_queue.lua",
		`for first = 1, #waiting, 500 do`,
		`for first = 1, 1, 500 do`,
	}},
	{"TestFairAcquire_MoveDenied_Rejected", Mistake{
		"no error says that times may not be moved", "scripts/lib/fair_queue.lua",
		`if type(set) == 'table' then return set end
  end`,
		`
  end`,
	}},
	{"TestFairAcquire_MoveDenied_Rejected", Mistake{
		"a wait that may not be taken back counts as taken back", "scripts/lib/fair_queue.lua",
		`    if failed then return failed end
    if reminds`,
		`    if reminds`,
	}},
	{"TestFairAcquire_MoveDenied_Rejected", Mistake{
		"times that may not be put off count as put off", "scripts/fair_acquire.lua",
		`return shift_times(times, by) or time + by`,
		`return not shift_times(times, by) and time + by or time + by`,
	}},
	{"TestFairAcquire_MoveDenied_Rejected", Mistake{
		"one who may not outlive a dead head has outlived it", "scripts/fair_acquire.lua",
		`  if failed then return failed end
  subtract_wait`,
		`  subtract_wait`,
	}},
	{"TestFairWaiter_WaitGrew_StaysBehind", Mistake{
		"a waiter with a wait that grew keeps its time", "scripts/fair_acquire.lua",
		`if adds <= added then return time, added end`,
		`if adds then return time, added end`,
	}},
	{"TestFairWaiter_BehindRedissonNow_StaysAlive", Mistake{
		"a waiter that comes to be behind one of Redisson's keeps its time", "scripts/fair_acquire.lua",
		`local adds = kept(lock, front[1]) and wait or math.max(wait, theirs)`,
		`local adds = wait`,
	}},
	{"TestFairWaiter_FrontDies_Told", Mistake{
		"a waiter is not told that the dead one in front of it is gone", "scripts/fair_acquire.lua",
		`if pruned and ttl == -2 and head ~= id then`,
		`if false then`,
	}},
	{"TestFairWaiter_FrontDies_Told", Mistake{
		"the first waiter is told with each try of another one", "scripts/lib/fair_queue.lua",
		`return head, time, left, doubt, count > 0`,
		`return head, time, left, doubt, true`,
	}},
	{"TestFairWaiter_WaitGrew_StaysBehind", Mistake{
		"a place is shared that has a shorter wait", "scripts/fair_acquire.lua",
		` and (added_last or wait) >= wait then`,
		` then`,
	}},
	{"TestFairWaiter_WaitGrew_StaysBehind", Mistake{
		"all waiters move on with one that has a longer wait", "scripts/fair_acquire.lua",
		`shift_times(lock.times, by, before)`,
		`shift_times(lock.times, by)`,
	}},
	{"TestFairWaiter_WaitGrew_LongQueueUnchanged", Mistake{
		"each wait that grew moves a long queue", "scripts/fair_acquire.lua",
		`type(count) == 'table' or count - before > movable`,
		`type(count) == 'table'`,
	}},
	{"TestFairWaiter_WaitGrew_LongQueueUnchanged", Mistake{
		"each tenure of a call moves as many times", "scripts/fair_acquire.lua",
		`    movable = movable - (count - before)`,
		`    movable = movable - 0`,
	}},
	{"TestFairWaiter_Leaves_SubtractsWait", Mistake{
		"who leaves a queue takes back what it waits", "scripts/fair_release.lua",
		`it.wait = added or it.wait`,
		`it.wait = it.wait`,
	}},
	{"TestFairWaiter_Leaves_SubtractsWait", Mistake{
		"who leaves a queue, and was not kept up, takes nothing back", "scripts/fair_release.lua",
		`it.wait = added or it.wait`,
		`it.wait = added or ''`,
	}},
	{"TestMultiScript_AllOrNothing", Mistake{
		"of a group behind a smaller one some keys are not looked at", "scripts/multi_acquire.lua",
		`unpack(KEYS, first + 1, first + count)`,
		`unpack(KEYS, first + 1, count)`,
	}},
	{"TestLeases_ManyLocks_SetAsGiven", Mistake{
		"leases begin at the last whole second", "scripts/lib/expire.lua",
		`1000 * time[1] + math.floor(time[2] / 1000)`,
		`1000 * time[1]`,
	}},
	{"TestStateScript_EveryKeyShape", Mistake{
		"a count of 2^63 is negative", "scripts/lib/stored_count.lua",
		`math.min(n, 2147483647)`, `n`,
	}},
	{"TestAcquireScripts_SeveralFields_AreHeld", Mistake{
		"a hash of several fields is free to a waiter in a queue", "scripts/lib/grant.lua",
		`return ttl == -1 and '' or 'several'`,
		`return ''`,
	}},
	{"TestRenewScript_TTLFalls_Published", Mistake{
		"listeners of a fair lock with a falling TTL are not counted", "scripts/lib/confirm.lua",
		`['3'] = true, ['5'] = true}
local falls`,
		`['3'] = true}
local falls`,
	}},
	{"TestForceScripts_UnlinkDenied_LargeHashEnds", Mistake{
		"a large hash stays if the user may not run UNLINK", "scripts/lib/delete.lua",
		`if type(removed) == 'number' then return removed end`,
		`return removed`,
	}},
	{"TestRWScripts_ManyReadersWithManyHolds_Bounded", Mistake{
		"each reader has the bound of a whole call", "scripts/lib/readers.lua",
		`    may_look = may_look - count
    for i = count`,
		`    for i = count`,
	}},
}
