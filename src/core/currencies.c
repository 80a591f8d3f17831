/*
 * Currencies, funds and metals of ISO 4217, by the digits of their minor unit.
 *
 * Two lists: the codes in force on the date of the table, and those withdrawn in the five
 * years before it, because refunds and disputes outlive a currency and its exponent did not
 * change. Older ones are unknown. To bring it up to date: read the amendments since the date,
 * change the lists, change the date. Exponents are those of the standard, not of habit: some
 * payment services treat ISK or UGX as if they had two digits, and then a field in minor units
 * says what the service says.
 */
#include "core/currencies.h"

#include "core/money.h"

const char *const money_table_date = "2026-01-01";

const struct currency_group currency_groups[] = {
	{.exponent = 2,
	 .codes = "AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BOV BRL BSD "
		  "BTN BWP BYN BZD CAD CDF CHE CHF CHW CNY COP COU CRC CUP CVE CZK DKK DOP "
		  "DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF "
		  "IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL "
		  "MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MXV MYR MZN NAD NGN NIO NOK NPR "
		  "NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP "
		  "SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD "
		  "USN UYU UZS VED VES WST XAD XCD XCG YER ZAR ZMW ZWG"},
	{.exponent = 0,
	 .codes = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"},
	{.exponent = 3, .codes = "BHD IQD JOD KWD LYD OMR TND"},
	{.exponent = 4, .codes = "CLF UYW"},
	/* Metals, units of account, the code for tests and the one for no currency (in two
	 * pieces, because tools take three X for a mark). */
	{.exponent = -2,
	 .codes = "XAG XAU XBA XBB XBC XBD XDR XPD XPT XSU XTS XUA XX"
		  "X"},
	/* Withdrawn: 2021 CUC, 2023 HRK, 2024 SLL and ZWL, 2025 ANG, 2026 BGN. */
	{.exponent = 2, .codes = "ANG BGN CUC HRK SLL ZWL"},
};

const size_t currency_group_count = sizeof(currency_groups) / sizeof(currency_groups[0]);
