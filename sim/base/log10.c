#include <math.h> /* NAN and INFINITY only */
#include <string.h>

#include "sim/base/units.h"

/* x = m * 2^e with m in [1/sqrt 2, sqrt 2), and ln m = 2 atanh((m-1)/(m+1)), a
 * series in s^2 <= 0.0295 whose 12 terms leave less than 1e-18
 * (SRC:abramowitz1964, 4.1.27).  e * log10 2 and log10 m cancel at most half,
 * and e = 0 around x = 1, so that the relative error stays at a few ulp. */
static double ln_near_one(double m) {
  double s = (m - 1) / (m + 1), z = s * s, sum = 0;
  for (int k = 23; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
  return 2 * s * sum;
}

double tsr_log10(double x) {
  static const double log10_2 = 0.30102999566398119521, log10_e = 0.43429448190325182765;
  uint64_t bits;
  int e = 0;
  if (x == 0) return -INFINITY;
  if (!(x > 0)) return NAN;
  if (x > 0x1.fffffffffffffp1023) return x;
  if (x < 0x1p-1022) {
    x *= 0x1p54;
    e = -54;
  }
  memcpy(&bits, &x, sizeof bits);
  e += (int)(bits >> 52) - 1023;
  bits = (bits & 0xfffffffffffffu) | UINT64_C(1023) << 52;
  double m;
  memcpy(&m, &bits, sizeof m);
  if (m > 0x1.6a09e667f3bcdp0) { /* sqrt 2 */
    m /= 2;
    e++;
  }
  return e * log10_2 + ln_near_one(m) * log10_e;
}
