; C = A * B on one core, in two tiles along k.
;   A: 64 x 128 fp16 at 0, B: 128 x 64 fp16 behind it, C: 64 x 64 fp32 behind that.
; The scratchpads a and b hold two tiles each, so that the second one loads while the
; first is multiplied; c holds the one tile of the result, to which both add.

m = 64
n = 64
k = 128
tile_k = 64
half = 2                        ; bytes of an fp16
single = 4                      ; of an fp32
a_slot = m * tile_k * half      ; of a tile of A
b_slot = tile_k * n * half

format f0, "fp16"
format f1, "fp32"

; A: dimension 0 is m, dimension 1 is k and moves on by a tile with each iteration of l0.
; The feeds tell which element of a tile a multiplication takes: one further along an
; axis lies one further in that dimension.
tensor t0, f0, elem=half, base=0
dim t0, i=0, size=m, stride=k * half
dim t0, i=1, size=k, stride=half
box t0, i=0, extent=m
box t0, i=1, extent=tile_k
walk t0, i=1, l0, delta=tile_k
feed t0, i=0, ow, delta=1
feed t0, i=1, c, delta=1

; B: dimension 0 is k, dimension 1 is n.
tensor t1, f0, elem=half, base=m * k * half
dim t1, i=0, size=k, stride=n * half
dim t1, i=1, size=n, stride=half
box t1, i=0, extent=tile_k
box t1, i=1, extent=n
walk t1, i=0, l0, delta=tile_k
feed t1, i=0, c, delta=1
feed t1, i=1, n, delta=1

; C stays where it is.
tensor t2, f1, elem=single, base=(m + n) * k * half
dim t2, i=0, size=m, stride=n * single
dim t2, i=1, size=n, stride=single
box t2, i=0, extent=m
box t2, i=1, extent=n
feed t2, i=0, ow, delta=1
feed t2, i=1, n, delta=1

; Places: p0 and p1 alternate between two slots, p2 is one.
place p0, a, f0, elem=half, base=0, wrap=2 * a_slot
advance p0, l0, delta=a_slot
place p1, b, f0, elem=half, base=0, wrap=2 * b_slot
advance p1, l0, delta=b_slot
place p2, c, f1, elem=single, base=0, wrap=m * n * single

; Axes of the work; those that are not named have size 1.
axis ow, none, size=m, tile=m
axis n, none, size=n, tile=n
axis c, l0, size=k, tile=tile_k

sem s0, value=2                 ; slots that are free, each for a tile of A and one of B
sem s1, value=0                 ; tiles that have arrived
sem s2, value=0                 ; results that are complete

loop l0, trips=k / tile_k
  wait load, s0, start
  load t0, p0
  signal load, s1, done
  load t1, p1
  signal load, s1, done
  wait tile, s1, start, n=2     ; a tile of A and one of B
  mm p2, p0, p1, t2, t0, t1, over=l0 ; overwrites p2 first, then adds to it
  signal tile, s0, read         ; the slot is free once both were read
end l0
signal tile, s2, done
wait store, s2, start
store t2, p2
halt
