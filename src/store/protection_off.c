/* The store of the program that bench/run --against is given, to measure what protection costs. */
#include "store/protection.h"

bool store_is_protected(void)
{
	return false;
}
