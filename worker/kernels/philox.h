/* The constants of Philox4x32-10 (Salmon et al. 2011), for its vector and its scalar form. */
#ifndef PACELINE_KERNEL_PHILOX_H
#define PACELINE_KERNEL_PHILOX_H

#define PHILOX_ROUNDS 10
#define PHILOX_M0 0xD2511F53u
#define PHILOX_M1 0xCD9E8D57u
#define PHILOX_W0 0x9E3779B9u
#define PHILOX_W1 0xBB67AE85u

#endif
