/*
 * European options by the formula of Black, Scholes and Merton, with a continuous dividend yield:
 * price, delta, gamma, vega, theta and rho for a call and a put of the same terms. One option for
 * each work-item; quantity q of option i is at q * count + i.
 */
#define INVERSE_ROOT_TWO 0.70710678118654752440f
#define INVERSE_ROOT_TWO_PI 0.39894228040143267794f

enum { PRICE, DELTA, GAMMA, VEGA, THETA, RHO, QUANTITIES };

typedef struct {
    float spot;
    float strike;
    float years;
    float rate;
    float yield;
    float volatility;
} option_terms;

static inline float normal_cumulative(float x)
{
    return 0.5f * erfc(-x * INVERSE_ROOT_TWO);
}

static inline float normal_density(float x)
{
    return INVERSE_ROOT_TWO_PI * exp(-0.5f * x * x);
}

/* `sign` is 1 for a call and -1 for a put: the two formulas differ in signs only. */
static inline void value_option(option_terms o, float sign, __global float *values, uint i, uint count)
{
    const float root = sqrt(o.years);
    const float spread = o.volatility * root;
    const float d1 = (log(o.spot / o.strike) + (o.rate - o.yield + 0.5f * o.volatility * o.volatility) * o.years) / spread;
    const float d2 = d1 - spread;
    const float spot_now = o.spot * exp(-o.yield * o.years);
    const float strike_now = o.strike * exp(-o.rate * o.years);
    const float n1 = normal_cumulative(sign * d1);
    const float n2 = normal_cumulative(sign * d2);
    const float density = normal_density(d1);

    values[PRICE * count + i] = sign * (spot_now * n1 - strike_now * n2);
    values[DELTA * count + i] = sign * exp(-o.yield * o.years) * n1;
    values[GAMMA * count + i] = exp(-o.yield * o.years) * density / (o.spot * spread);
    values[VEGA * count + i] = spot_now * density * root;
    values[THETA * count + i] =
        sign * (o.yield * spot_now * n1 - o.rate * strike_now * n2) - spot_now * density * o.volatility / (2.0f * root);
    values[RHO * count + i] = sign * strike_now * o.years * n2;
}

__kernel void black_scholes(__global const option_terms *options, const uint count, __global float *calls, __global float *puts)
{
    const uint i = get_global_id(0);
    if (i < count) {
        value_option(options[i], 1.0f, calls, i, count);
        value_option(options[i], -1.0f, puts, i, count);
    }
}
