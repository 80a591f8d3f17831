#ifndef DRILL_REPORT_H
#define DRILL_REPORT_H
#include "base/buf.h"
#include "drill/result.h"
void report_table(const struct drill_report *, bool has_colour, struct buf *out);
void report_tap(const struct drill_report *, struct buf *out);
void report_junit(const struct drill_report *, struct buf *out);
void report_json(const struct drill_report *, struct buf *out);
void report_html(const struct drill_report *, struct buf *out);
#endif
