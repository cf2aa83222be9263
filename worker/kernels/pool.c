/* Pooling and activations; see pool.h. All sizes are multiples of 16. */
#include "worker/kernels/pool.h"

#include "worker/kernels/vec.h"

struct window {
    int h0, h1, w0, w1;
};

static struct window window_at(const struct pool *p, int oh, int ow)
{
    int h = oh * p->stride_h - p->pad_t, w = ow * p->stride_w - p->pad_l;
    return (struct window){
        h < 0 ? 0 : h,
        h + p->kernel_h > p->h ? p->h : h + p->kernel_h,
        w < 0 ? 0 : w,
        w + p->kernel_w > p->w ? p->w : w + p->kernel_w,
    };
}

VINLINE vf window_max(const struct pool *p, const float *x, struct window win)
{
    vf best = vload(x + (win.h0 * p->w + win.w0) * VEC);
    for (int h = win.h0; h < win.h1; h++) {
        for (int w = win.w0; w < win.w1; w++) {
            vf v = vload(x + (h * p->w + w) * VEC);
            best = vsel(vgt(v, best), v, best);
        }
    }
    return best;
}

/* Calls BODY for every window: x and y offsets of its block, and the window. */
#define EACH_WINDOW(p, BODY)                                                   \
    for (int block = 0; block < (p)->blocks; block++) {                        \
        const size_t x_at = (size_t)(block * (p)->h * (p)->w) * VEC;           \
        for (int i = 0; i < (p)->oh * (p)->ow; i++) {                          \
            const struct window win = window_at(p, i / (p)->ow, i % (p)->ow);  \
            const size_t y_at = (size_t)(block * (p)->oh * (p)->ow + i) * VEC; \
            BODY                                                               \
        }                                                                      \
    }

static void max_forward(const struct pool *p, float *y, const float *x)
{
    EACH_WINDOW(p, { vstore(y + y_at, window_max(p, x + x_at, win)); })
}

static void max_backward(const struct pool *p, float *dx, const float *dy, const float *x)
{
    memset(dx, 0, sizeof(float) * (size_t)(p->blocks * p->h * p->w) * VEC);
    EACH_WINDOW(p, {
        const vf best = window_max(p, x + x_at, win);
        vf left = vload(dy + y_at); /* what no element of the window has taken yet */
        for (int h = win.h0; h < win.h1; h++) {
            for (int w = win.w0; w < win.w1; w++) {
                const size_t at = x_at + (size_t)(h * p->w + w) * VEC;
                const vm hit = veq(vload(x + at), best);
                vstore(dx + at, vadd(vload(dx + at), vsel(hit, left, vzero())));
                left = vsel(hit, vzero(), left);
            }
        }
    })
}

static void avg_forward(const struct pool *p, float *y, const float *x)
{
    EACH_WINDOW(p, {
        vf sum = vzero();
        for (int h = win.h0; h < win.h1; h++) {
            for (int w = win.w0; w < win.w1; w++)
                sum = vadd(sum, vload(x + x_at + (h * p->w + w) * VEC));
        }
        vstore(y + y_at, vdiv(sum, vset1((float)((win.h1 - win.h0) * (win.w1 - win.w0)))));
    })
}

static void avg_backward(const struct pool *p, float *dx, const float *dy)
{
    memset(dx, 0, sizeof(float) * (size_t)(p->blocks * p->h * p->w) * VEC);
    EACH_WINDOW(p, {
        const float count = (float)((win.h1 - win.h0) * (win.w1 - win.w0));
        const vf share = vdiv(vload(dy + y_at), vset1(count));
        for (int h = win.h0; h < win.h1; h++) {
            for (int w = win.w0; w < win.w1; w++) {
                float *to = dx + x_at + (h * p->w + w) * VEC;
                vstore(to, vadd(vload(to), share));
            }
        }
    })
}

static void unpool2(float *dx, const float *dy, const float *y, const uint8_t *argmax, int blocks,
                    int h, int w)
{
    const int oh = h / 2, ow = w / 2;
    if (h % 2 || w % 2)
        memset(dx, 0, sizeof(float) * (size_t)(blocks * h * w) * VEC);
    for (int row = 0; row < blocks * oh; row++) {
        float *to = dx + (size_t)((row / oh) * h + row % oh * 2) * (size_t)w * VEC;
        for (int i = 0; i < ow; i++) {
            const size_t at = (size_t)(row * ow + i) * VEC;
            uint32_t places[VEC];
            for (int l = 0; l < VEC; l++)
                places[l] = argmax[at + (size_t)l];
            const vf place = vcvt_u24(viload(places));
            vf d = vload(dy + at);
            if (y)
                d = vsel(vgt(vload(y + at), vzero()), d, vzero());
            for (int q = 0; q < 4; q++)
                vstore(to + ((q / 2) * w + 2 * i + q % 2) * VEC,
                       vsel(veq(place, vset1((float)q)), d, vzero()));
        }
    }
}

static void channel_sums(float *sums, const float *dy, const float *y, int blocks, int pixels,
                         bool first)
{
    for (int block = 0; block < blocks; block++) {
        const size_t at = (size_t)(block * pixels) * VEC;
        vf sum = first ? vzero() : vload(sums + block * VEC);
        for (int i = 0; i < pixels; i++) {
            vf d = vload(dy + at + (size_t)i * VEC);
            if (y)
                d = vsel(vgt(vload(y + at + (size_t)i * VEC), vzero()), d, vzero());
            sum = vadd(sum, d);
        }
        vstore(sums + block * VEC, sum);
    }
}

static void pool_add(float *y, const float *a, const float *b, size_t n, bool relu)
{
    for (size_t i = 0; i < n; i += VEC) {
        const vf v = vadd(vload(a + i), vload(b + i));
        vstore(y + i, relu ? vmax(v, vzero()) : v);
    }
}

static void relu_backward(float *dx, const float *dy, const float *y, size_t n)
{
    for (size_t i = 0; i < n; i += VEC)
        vstore(dx + i, vsel(vgt(vload(y + i), vzero()), vload(dy + i), vzero()));
}

extern const struct pool_kernels K(pool_kernels);
const struct pool_kernels K(pool_kernels) = {
    .max_forward = max_forward,
    .max_backward = max_backward,
    .avg_forward = avg_forward,
    .avg_backward = avg_backward,
    .unpool2 = unpool2,
    .channel_sums = channel_sums,
    .add = pool_add,
    .relu_backward = relu_backward,
};
