/* mail.h - tells owners by mail what becomes of their jobs
 *
 * The site's program (controller.mail_program) is called as `PROGRAM -s SUBJECT ADDRESS`, as
 * mail(1) is (programs.h). Mails wait until what they tell is on disk. MAIL_AT_ONCE programs run at
 * a time, each for MAIL_TIMEOUT_S at most; when MAIL_WAITING_MAX wait, further mails are dropped
 * and the log says how many.
 */
#ifndef CTLD_MAIL_H
#define CTLD_MAIL_H

#include <stdint.h>

#include "common/job/run.h"

#define MAIL_AT_ONCE     4
#define MAIL_WAITING_MAX 1000
#define MAIL_TIMEOUT_S   60

struct ctld;
struct effect;
struct mail;

struct mail *mail_new(struct ctld *c);
void mail_free(struct mail *m); /* kills what runs; NULL is fine */

/* NULL, or a warning for a user that requests mail: why no mail will be sent. */
const char *mail_warning(const struct mail *m);

/* Something was committed. */
void mail_committed(struct mail *m);

/* EFFECT_MAIL */
void mail_effect(struct ctld *c, const struct effect *effect, struct clocks now);

#endif
