/* What every picture must hold to. */
#ifndef TSR_TESTS_UNIT_PICTURE_SVG_H
#define TSR_TESTS_UNIT_PICTURE_SVG_H

#include <stddef.h>

size_t svg_count(const char *text, const char *what);
/* Elements close in the order they opened, & begins a known entity. */
void svg_well_formed(const char *svg);
/* No upright text on another, none outside 1290 x height. */
void svg_texts_apart(const char *svg, double height);

/* How many upright texts of the classes that begin with `class` a roof, a slope or a
 * whisker passes through. */
size_t svg_texts_crossed(const char *svg, const char *class);

#endif
