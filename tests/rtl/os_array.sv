// Output stationary: a[i] of each row flows east, b[j] of each column south, each element
// keeps a sum. When the element in the far corner has finished, all sums are captured in
// shadow registers, which leave by the south edge while the next fold runs.
module os_array #(
    parameter int R = 4,
    parameter int C = 4
) (
    input  logic        clk,
    input  logic        rst,
    input  logic        fp,
    input  logic        serial,    // results leave before the next fold begins
    // operands: one column of a, one row of b
    input  logic        x_valid,
    output logic        x_ready,
    input  logic        x_first,   // of a sum
    input  logic        x_last,
    input  logic [15:0] a[R],
    input  logic [15:0] b[C],
    // results: one row, the southernmost first
    output logic        y_valid,
    input  logic        y_ready,   // low: the whole array stands still
    output logic [15:0] y_row,
    output logic [31:0] y[C]
);
  typedef struct packed {
    logic valid, first, last;
    logic [15:0] a;
  } east_t;

  // What enters, before and after the feeders; what an element has registered; what
  // comes to it; its sum as it is about to be registered.
  east_t west[R], west_q[R], east[R][C], east_in[R][C];
  logic [15:0] north_q[C], south[R][C], south_in[R][C];
  logic [31:0] sum[R][C], sum_next[R][C], shadow[R][C], shadow_next[R][C];

  logic x_take, y_take, en, finish, tail;
  logic [15:0] left; // rows in the shadow registers

  assign y_valid = left != 0;
  assign y_row   = left - 16'd1;
  assign y_take  = y_valid && y_ready;
  assign en      = !y_valid || y_ready;
  assign x_ready = en && !tail && !(serial && y_valid);
  assign x_take  = x_valid && x_ready;
  assign finish  = east_in[R-1][C-1].valid && east_in[R-1][C-1].last;

  always_comb for (int i = 0; i < R; i++) west[i] = {x_take, x_first, x_last, a[i]};
  skew #(.W($bits(east_t)), .N(R)) feed_a (.clk, .rst, .en, .d(west), .q(west_q));
  skew #(.W(16), .N(C)) feed_b (.clk, .rst, .en, .d(b), .q(north_q));

  always_comb
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) begin
        east_in[i][j]  = rst ? '0 : j == 0 ? west_q[i] : east[i][j-1];
        south_in[i][j] = i == 0 ? north_q[j] : south[i-1][j];
      end

  always_comb
    for (int i = 0; i < R; i++)
      for (int j = 0; j < C; j++) begin
        sum_next[i][j] = sum[i][j];
        if (east_in[i][j].valid)
          sum_next[i][j] = numbers::mac(fp, east_in[i][j].a, south_in[i][j],
                                        east_in[i][j].first ? 32'd0 : sum[i][j]);
        shadow_next[i][j] = shadow[i][j];
        if (finish) shadow_next[i][j] = sum_next[i][j];
        else if (y_take) shadow_next[i][j] = i == 0 ? 32'd0 : shadow[i-1][j];
      end

  always_comb for (int j = 0; j < C; j++) y[j] = shadow[R-1][j];

  always_ff @(posedge clk) begin
    if (en || rst) begin
      east <= east_in;
      south <= south_in;
      sum <= sum_next;
      shadow <= shadow_next;
    end
    if (rst) begin
      tail <= 1'b0;
      left <= 16'd0;
    end else if (en) begin
      tail <= (tail || (x_take && x_last)) && !finish;
      if (finish) left <= 16'(R);
      else if (y_take) left <= left - 16'd1;
      if (finish && left > 16'd1) $fatal(1, "results overwritten");
    end
  end
endmodule
