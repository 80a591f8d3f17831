/* The store of every program that is used. */
#include "store/protection.h"

bool store_is_protected(void)
{
	return true;
}
