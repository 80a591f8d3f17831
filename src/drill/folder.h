/*
 * Removing a folder that a drill has made.
 */
#ifndef DRILL_FOLDER_H
#define DRILL_FOLDER_H

/* With all that is in it, on its own file system; links are not followed. 0, or -1 with errno. */
int folder_remove(const char *path);

#endif
