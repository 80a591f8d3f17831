/*
 * What verification of an audit log found, for people and for programs.
 */
#ifndef CLI_AUDIT_VIEW_H
#define CLI_AUDIT_VIEW_H

#include "audit/verify.h"
#include "base/buf.h"

/* Append lines for a person. Refusals show in out->is_spoiled. */
void audit_view_text(const struct verify_report *report, struct buf *out);

/* Append one JSON object and a newline. */
void audit_view_json(const struct verify_report *report, struct buf *out);

#endif
