/*
 * The cell of an LSTM, of one sample at one position: element by element, so sums have no order.
 * Gates lie one after the other, [i, f, g, o][units], units a multiple of 16.
 *
 *   i, f, o = sigmoid(a), g = tanh(a), of a = input + recurrent
 *   c = f * c' + i * g (fma), h = o * tanh(c)
 *
 * Hochreiter and Schmidhuber 1997, with forget gates (Gers et al. 2000) and without peepholes.
 */
#ifndef PACELINE_KERNEL_LSTM_H
#define PACELINE_KERNEL_LSTM_H

#include <stddef.h>

struct lstm_kernels {
    /* Units [from, to), both multiples of 16. gates: what comes from the input, and becomes the
     * gates' values; recurrent: what comes from the hidden state, to be added; cell: c' becomes c;
     * tanh_cell, hidden: tanh(c), h. */
    void (*forward)(float *gates, const float *recurrent, float *cell, float *tanh_cell,
                    float *hidden, size_t units, size_t from, size_t to);
    /* Likewise. gates: their values become the gradients of their sums a. last_cell: c'. dh: of h;
     * dc: of c from the position after it, becomes that of c'. With D = dc + (dh * o) * (1 -
     * tanh(c)^2): D*g*i*(1-i), D*c'*f*(1-f), D*i*(1-g^2), dh*tanh(c)*o*(1-o), and dc = D*f; each
     * product from left to right, 1 - v^2 one fma. */
    void (*backward)(float *gates, const float *last_cell, const float *tanh_cell, const float *dh,
                     float *dc, size_t units, size_t from, size_t to);
};

#endif
