/* fake_munge.h - a stand-in for munge with munge's own rules and errors
 *
 * A realm is a set of hosts that share a key; each host has a clock (given by the caller, no real
 * time is read) and remembers what was decoded on it. A client is a process on a host: its uid and
 * gid are what credentials say, and what uid restrictions are compared with. Credentials are
 * authenticated (keyed BLAKE2b), so that every altered character is refused as munge refuses it.
 * The same calls give the same bytes: a serial number stands where munge has randomness.
 *
 * Calls are safe from several threads. What cannot happen by itself is switched on: down (nobody
 * listens at the socket), stalled (calls do not return until it is switched off or `stall_ms` is
 * over, as libmunge gives up too).
 */
#ifndef SIM_FAKE_MUNGE_H
#define SIM_FAKE_MUNGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/net/munge.h"

struct fake_munge; /* one host's munge daemon */

/* Hosts with the same `key` understand each other. */
struct fake_munge *fake_munge_new(uint64_t key);
void fake_munge_free(struct fake_munge *f); /* after its clients; NULL is fine */

void fake_munge_set_time(struct fake_munge *f, int64_t utc_s); /* starts at 1,000,000 */
void fake_munge_set_down(struct fake_munge *f, bool down);
void fake_munge_set_stalled(struct fake_munge *f, bool stalled, unsigned stall_ms);
void fake_munge_forget(struct fake_munge *f); /* the replay cache: the daemon was restarted */

/* How credentials of this host are made, as a careless site or an attacker would: without AES-256,
 * restricted to another uid than asked for, with another life. Defaults: true, as asked, 300. */
void fake_munge_set_aes256(struct fake_munge *f, bool aes256);
void fake_munge_set_restriction(struct fake_munge *f, bool forced, uid_t uid);
void fake_munge_set_ttl(struct fake_munge *f, int32_t ttl_s);

unsigned fake_munge_decodes(const struct fake_munge *f); /* calls so far */

/* A process on that host; free with mcred_ops_free(). */
struct mcred_ops *fake_munge_client(struct fake_munge *f, uid_t uid, gid_t gid);

#endif
