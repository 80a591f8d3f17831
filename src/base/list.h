/*
 * An intrusive doubly linked list.
 *
 * A `struct list` is either a head (an empty one points at itself) or a link inside a
 * larger struct. A link that is on no list points at itself, so removing it twice is fine.
 */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

struct list {
	struct list *next;
	struct list *previous;
};

/* The struct that holds `link` as its member `member`. */
#define list_entry(link, type, member) ((type *)(void *)((char *)(link)-offsetof(type, member)))

/* Every link, where the body may remove `link` (but no other). */
#define list_for_each(link, after, head)                                                           \
	for ((link) = (head)->next, (after) = (link)->next; (link) != (head);                      \
	     (link) = (after), (after) = (link)->next)

static inline void list_init(struct list *list)
{
	list->next = list->previous = list;
}

static inline bool list_is_empty(const struct list *head)
{
	return head->next == head;
}

/* `link` must be on no list. */
static inline void list_append(struct list *head, struct list *link)
{
	link->previous = head->previous;
	link->next = head;
	head->previous->next = link;
	head->previous = link;
}

static inline void list_remove(struct list *link)
{
	link->previous->next = link->next;
	link->next->previous = link->previous;
	list_init(link);
}

#endif
