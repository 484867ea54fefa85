// A dot product tile: M x N dot products of K elements a step. Operands come lane by lane
// into one set of registers; a step enters a pipeline of DEPTH stages with the beat that
// brings the last of them. Sums wait in an accumulator store, which a step reads where it
// enters, or, with an adder that takes its result back, where it leaves.
module dot_tile #(
    parameter int M = 4,
    parameter int N = 4,
    parameter int K = 4,
    parameter int DEPTH = 3,
    parameter int ACC = 8,              // blocks of M x N that the store holds
    localparam int OPS = (M + N) * K,   // elements of a step's operands
    localparam int PW = $clog2(OPS),
    localparam int AW = $clog2(ACC)
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        fp,
    input  logic        forward,        // sums are read where a step leaves
    // operands: elements and where they go, a[i][k] at i*K + k, b[k][j] behind at j*K + k
    input  logic        x_valid,
    output logic        x_ready,
    input  logic        x_clear_a,      // a new fragment begins: what it lacks is zero
    input  logic        x_clear_b,
    input  logic [15:0] x_count,
    input  logic [PW-1:0] x_place[OPS],
    input  logic [15:0] x_data[OPS],
    // the last beat of a step
    input  logic        x_step,
    input  logic [AW-1:0] x_acc,        // where its sums are
    input  logic        x_fresh,        // they begin with c
    input  logic        x_last,         // and are complete
    input  logic [31:0] x_c[M*N],
    // complete sums, a block at a time
    output logic        y_valid,
    input  logic        y_ready,        // low: the whole tile stands still
    output logic [31:0] y[M*N]
);
  typedef struct packed {
    logic valid, fresh, last;
    logic [AW-1:0] acc;
  } step_t;

  // What comes to a stage, what it has registered. Stage 0 has what enters.
  step_t step_in[DEPTH], step_next[DEPTH], step[DEPTH];
  logic [15:0] ops_in[DEPTH][OPS], ops[DEPTH][OPS], held[OPS], held_next[OPS];
  logic [31:0] sum_in[DEPTH][M*N], sum_out[DEPTH][M*N], sum[DEPTH][M*N];
  logic [31:0] store[ACC][M*N];
  logic en, blocked;

  always_comb begin // the feeders
    for (int i = 0; i < OPS; i++)
      held_next[i] = x_valid && (i < M*K ? x_clear_a : x_clear_b) ? 16'd0 : held[i];
    for (int l = 0; l < OPS; l++)
      if (x_valid && 16'(l) < x_count) held_next[x_place[l]] = x_data[l];
  end

  always_comb begin // sums that are still on their way cannot be read
    blocked = 1'b0;
    for (int s = 1; s < DEPTH; s++)
      if (step[s-1].valid && step[s-1].acc == x_acc) blocked = !forward && !x_fresh;
  end

  always_comb
    for (int s = 0; s < DEPTH; s++)
      if (s == 0) begin
        step_in[s] = {x_valid && x_step && !blocked, x_fresh, x_last, x_acc};
        ops_in[s] = held_next;
        for (int i = 0; i < M*N; i++)
          sum_in[s][i] = x_fresh ? x_c[i] : store[x_acc][i];
      end else begin
        step_in[s] = step[s-1];
        ops_in[s] = ops[s-1];
        sum_in[s] = sum[s-1];
      end

  // Products along k in order, a share of them in each stage, or all in the last.
  always_comb
    for (int s = 0; s < DEPTH; s++)
      for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) begin
          sum_out[s][i*N+j] = sum_in[s][i*N+j];
          if (forward && s == DEPTH - 1 && !step_in[s].fresh)
            sum_out[s][i*N+j] = store[step_in[s].acc][i*N+j];
          if (step_in[s].valid)
            for (int k = 0; k < K; k++)
              if (s == (forward ? DEPTH - 1 : k * DEPTH / K))
                sum_out[s][i*N+j] = numbers::mac(fp, ops_in[s][i*K+k],
                                                 ops_in[s][M*K+j*K+k], sum_out[s][i*N+j]);
        end

  assign y_valid = step_in[DEPTH-1].valid && step_in[DEPTH-1].last;
  assign en      = !y_valid || y_ready;
  assign x_ready = en && !(x_step && blocked);
  always_comb for (int i = 0; i < M*N; i++) y[i] = sum_out[DEPTH-1][i];

  always_comb for (int s = 0; s < DEPTH; s++) step_next[s] = rst ? '0 : step_in[s];
  always_ff @(posedge clk)
    if (x_ready || rst) held <= held_next;
  always_ff @(posedge clk)
    if (en || rst) begin
      step <= step_next;
      ops <= ops_in;
      sum <= sum_out;
      if (step_in[DEPTH-1].valid) store[step_in[DEPTH-1].acc] <= sum_out[DEPTH-1];
    end
endmodule
