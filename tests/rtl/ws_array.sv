// Weight stationary: weights wait in the elements, a[i] of each row flows east, sums flow
// south, out of an accumulator memory of each column and back into it. Weights come down
// chains of their own and are latched, column after column, in a second register; the
// first vector of a fold makes them the active ones as it passes.
module ws_array #(
    parameter int R = 4,
    parameter int C = 4,
    parameter int DEPTH = 256      // vectors that the accumulator memory holds
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        fp,
    input  logic        preload,   // weights load while the fold before streams
    // weights: one row, the southernmost first
    input  logic        w_valid,
    output logic        w_ready,
    input  logic [15:0] w[C],
    // operands: one row of a
    input  logic        x_valid,
    output logic        x_ready,
    input  logic        x_last,    // of a fold
    input  logic        x_fresh,   // the sum starts at 0, not from the memory
    input  logic [15:0] a[R],
    // sums as they are written into the memory, each column by itself
    output logic        y_valid[C],
    input  logic        y_ready,   // low: the whole array stands still
    output logic [31:0] y[C]
);
  localparam int BW = R > 1 ? $clog2(R) : 1;
  localparam int AW = $clog2(DEPTH);
  typedef struct packed {
    logic valid, first, last, fresh;
    logic [15:0] a;
  } east_t;
  typedef struct packed {
    logic shift, latch;
    logic [15:0] w;
  } north_t;

  // What enters, before and after the feeders; what an element has registered; what
  // comes to it; its sum as it is about to be registered.
  east_t west[R], west_q[R], east[R][C], east_in[R][C];
  north_t north[C], north_q[C];
  logic [15:0] chain[R][C], chain_in[R][C], chain_next[R][C];
  logic [15:0] second[R][C], second_next[R][C], active[R][C], active_next[R][C], w_used[R][C];
  logic [31:0] sum[R][C], sum_in[R][C], sum_next[R][C], bank_q[C];

  logic w_go, x_go, en, start, loaded, mid, busy, all_in, pending, finish;
  logic [BW-1:0] beat;

  assign x_go    = x_valid && (mid || loaded);
  assign start   = x_go && !mid;
  assign w_go    = w_valid && (preload ? !loaded || start : !loaded && !busy);
  assign all_in  = w_go && beat == BW'(R - 1);
  assign en      = !pending || y_ready;
  assign x_ready = en && x_go;
  assign w_ready = en && w_go;
  assign finish  = east_in[R-1][C-1].valid && east_in[R-1][C-1].last;

  always_comb begin
    for (int i = 0; i < R; i++) west[i] = {x_go, start, x_last, x_fresh, a[i]};
    for (int j = 0; j < C; j++) north[j] = {w_go, all_in, w[j]};
  end
  skew #(.W($bits(east_t)), .N(R)) feed_a (.clk, .rst, .en, .d(west), .q(west_q));
  skew #(.W($bits(north_t)), .N(C)) feed_w (.clk, .rst, .en, .d(north), .q(north_q));

  always_comb
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) begin
        east_in[i][j]  = rst ? '0 : j == 0 ? west_q[i] : east[i][j-1];
        chain_in[i][j] = i == 0 ? north_q[j].w : chain[i-1][j];
        chain_next[i][j] = north_q[j].shift ? chain_in[i][j] : chain[i][j];
        second_next[i][j] = north_q[j].latch ? chain_in[i][j] : second[i][j];
        w_used[i][j] = east_in[i][j].first ? second[i][j] : active[i][j];
        active_next[i][j] = east_in[i][j].valid ? w_used[i][j] : active[i][j];
      end

  always_comb
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) begin
        sum_in[i][j] = i > 0 ? sum[i-1][j] : east_in[i][j].fresh ? 32'd0 : bank_q[j];
        sum_next[i][j] = sum[i][j];
        if (east_in[i][j].valid)
          sum_next[i][j] = numbers::mac(fp, east_in[i][j].a, w_used[i][j], sum_in[i][j]);
      end

  always_comb begin
    pending = 1'b0;
    for (int j = 0; j < C; j++) begin
      y_valid[j] = east_in[R-1][j].valid;
      y[j] = sum_next[R-1][j];
      pending |= y_valid[j];
    end
  end

  always_ff @(posedge clk) begin
    if (en || rst) begin
      east <= east_in;
      chain <= chain_next;
      active <= active_next;
      second <= second_next;
      sum <= sum_next;
    end
    if (rst) begin
      beat <= '0;
      loaded <= 1'b0;
      mid <= 1'b0;
      busy <= 1'b0;
    end else if (en) begin
      if (w_go) beat <= all_in ? '0 : beat + 1'b1;
      loaded <= all_in || (loaded && !start);
      if (x_go) mid <= !x_last;
      busy <= (busy || start) && !finish;
    end
  end

  generate
    for (genvar j = 0; j < C; j++) begin : g_column
      // The accumulator memory: read where a stream of vectors enters, written where it
      // leaves.
      logic [31:0] bank[DEPTH];
      logic [AW-1:0] in_next, out_next, in_at, out_at;
      assign in_at = east_in[0][j].first ? '0 : in_next;
      assign out_at = east_in[R-1][j].first ? '0 : out_next;
      assign bank_q[j] = bank[in_at];
      always_ff @(posedge clk)
        if (en && !rst) begin
          if (east_in[0][j].valid) in_next <= in_at + 1'b1;
          if (y_valid[j]) begin
            out_next <= out_at + 1'b1;
            bank[out_at] <= y[j];
          end
        end
    end
  endgenerate
endmodule
